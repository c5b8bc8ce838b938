#include "cli/command.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <utility>

#include "cli/console.hpp"
#include "cli/files.hpp"
#include "cli/help_format.hpp"
#include "cli/option_names.hpp"
#include "sim/base/atomic_file.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/log.hpp"
#include "sim/base/table.hpp"
#include "sim/base/text.hpp"
#include "sim/engine/worker_program.hpp"
#include "sim/query/query.hpp"
#include "sim/query/query_kind.hpp"

namespace linkcast::cli {
namespace fs = std::filesystem;

std::string default_data_dir() {
  const fs::path program = worker_program();
  for (const fs::path& candidate : {program.parent_path().parent_path(),
                                    program.parent_path().parent_path() / "share" / "linkcast", fs::current_path()})
    if (fs::is_directory(candidate / "topologies") && fs::is_directory(candidate / "models" / "params"))
      return candidate.string();
  throw InputError("--data-dir: no folder with topologies/ and models/params/ near " + program.string() + ": name one");
}

catalogue::Catalogue& Context::catalogue() {
  if (!catalogue_) {
    catalogue_ = std::make_unique<catalogue::Catalogue>(data_dir.empty() ? default_data_dir() : data_dir);
    catalogue_->show_progress(progress());
    log::Log("cli").debug("data of {}", catalogue_->data_dir());
  }
  return *catalogue_;
}

bool Context::reaches(const CLI::App& command, const std::string& name, const std::vector<std::string>& names) const {
  const auto stands = [this](const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const auto asks_for_help = [](const std::string& word) {
    return word.starts_with("--help") || (word.starts_with('-') && !word.starts_with("--") && word.ends_with('h'));
  };
  std::size_t depth = 0;
  for (const CLI::App* above = command.get_parent(); above != nullptr; above = above->get_parent()) ++depth;
  const bool named = depth < words.size() && std::find(names.begin(), names.end(), words[depth]) != names.end();
  const bool of_all = named && (words[0] == "help" || words[0] == "completion");  // they print what is declared
  return !named || of_all || std::any_of(words.begin(), words.end(), asks_for_help) || stands(name);
}

void Context::add_reached(CLI::App& command, std::span<const Command> all) {
  std::vector<std::string> names;
  for (const Command& one : all) names.emplace_back(one.name);
  for (const Command& one : all)
    if (reaches(command, one.name, names)) one.add(command, *this);
}

void Context::start_log(bool progress) {
  auto console = set_up_log(verbose, quiet);
  if (quiet || !progress) return;
  console_ = std::move(console);
  progress_ = std::make_unique<ConsoleProgress>(console_);
}

void add_log_options(CLI::App& app, Context& context) {
  const std::string group = app.get_parent() == nullptr ? "Options" : "";  // in the help of the program alone
  app.add_flag("-v,--verbose", context.verbose, "say on standard error what is loaded and chosen; -vv: details")
      ->group(group);
  app.add_flag("--quiet", context.quiet, "nothing on standard error but errors")->group(group);
  for (CLI::App* command : app.get_subcommands({})) add_log_options(*command, context);
}

void add_limit_options(CLI::App& app, Context& context) {
  const std::string group = app.get_parent() == nullptr ? "Options" : "";
  // When they are read: files on standard input are kept before the command begins.
  const auto settled = [&context](std::string& text) {
    return [&context, &text](const std::string& value) {
      text = value;
      context.settle_limits();
    };
  };
  app.add_option_function<std::string>(
         "--max-memory", settled(context.max_memory),
         "what one request may take, e.g. 16GiB, or none (default: LINKCAST_MAX_MEMORY, else 4GiB)")
      ->type_name("SIZE")
      ->trigger_on_parse()
      ->group(group);
  app.add_option_function<std::string>(
         "--max-time", settled(context.max_time),
         "the same, e.g. 2h; known before the work begins (default: LINKCAST_MAX_TIME, else 10 min)")
      ->type_name("TIME")
      ->trigger_on_parse()
      ->group(group);
  for (CLI::App* command : app.get_subcommands({})) add_limit_options(*command, context);
}

void Context::settle_limits() const {
  work::Limits limits = work::limits();
  if (!max_memory.empty()) {
    limits.memory_B = work::parse_memory_limit(max_memory, "--max-memory");
    ::setenv(work::kMemoryVariable, max_memory.c_str(), 1);
  }
  if (!max_time.empty()) {
    limits.time_s = work::parse_time_limit(max_time, "--max-time");
    ::setenv(work::kTimeVariable, max_time.c_str(), 1);
  }
  work::set_limits(limits);
}

std::string Context::stopped_at() const {
  if (!stopped_at_.empty()) return stopped_at_;
  const auto* shown = dynamic_cast<const ConsoleProgress*>(progress_.get());
  return shown == nullptr ? "" : shown->stopped_at();
}

void Context::settle_format() {
  const bool as_json = format == OutputFormat::kJson;
  if (json && format != OutputFormat::kTable && !as_json)
    throw InputError("--json: excludes --format " + format.name());
  json = json || as_json;
}

void add_common(CLI::App& command, Context& context, std::string& platform, const std::vector<std::string>& formats) {
  const auto help = [](const char* key) { return option_help(*query::find_key(query::common_keys(), key)); };
  command.add_option("-p,--platform", platform, help("platform"))->required();
  add_format(command, context, formats);
  command.add_option("--solver", context.solver, help("solver"));
  add_edits(command, context);
}

namespace {

/// The "fabric" object of a file, as text.
std::string fabric_in(const std::string& path) {
  const Json record = cluster_in(path);
  if (!record.is_object() || !record.contains("fabric")) throw InputError(path, "/fabric", "missing key");
  return record["fabric"].dump();
}

}  // namespace

std::vector<std::string> Context::edit_list() const {
  std::vector<std::string> list;
  for (const auto& [verb, arguments] : edits)
    for (const std::string& argument : arguments)
      list.push_back(verb == "edit"          ? argument
                     : verb == "fabric-file" ? "fabric " + fabric_in(argument)
                                             : verb + " " + argument);
  return list;
}

void add_edits(CLI::App& command, Context& context, bool fabric) {
  const auto option = [&](const std::string& verb, const char* type, const std::string& help) {
    command.add_option("--" + verb, context.edits[verb], help)
        ->type_name(type)
        ->take_all()
        ->allow_extra_args(false)
        ->group(kEditGroup);
  };
  option("disable", "KIND", "every cable of a kind or of kinds that begin so (nvlink), or peer access (p2p)");
  option("remove", "CABLE[:LINKS]", "a cable with all its links, or some of them: gpu0-gpu4, gpu0-gpu4:1");
  option("swap", "CABLE|KIND:KIND", "another kind of cable: nvlink1:nvlink2");
  option("add", "A-B:KIND[:LINKS]", "a new cable, or more links of one: gpu0-gpu5:nvlink2:2");
  option("set", "kind=KIND:bandwidth=RATE", "nominal rate of a kind, or PARAMETER=VALUE of a fitted parameter");
  option("scale", "CABLE|KIND:FACTOR", "rate times a factor: gpu0-gpu4:0.5");
  option("slow", "DEVICE:FACTOR", "all its links, copies and kernels slower: gpu3:1.2");
  option("flaky", "CABLE|KIND:SHARE", "share of its packets that are sent again: gpu0-gpu4:0.05");
  option("network", "NAME[:KEY=VALUE,...]", "what joins nodes, see 'linkcast list networks': efa, ib_xdr:nodes=512");
  option("nics", "NUMBER", "so many of a node's adapters, spread evenly");
  option("oversubscription", "FACTOR", "so many times less bandwidth above the leaves than below them");
  if (fabric) option("fabric", "GENERATOR:KEY=VALUE,...", "another fabric between nodes: dragonfly:nodes=64");
  if (fabric)
    option("fabric-file", "FILE", "the fabric of a JSON file, or of the output of ibnetdiscover or iblinkinfo");
  option("edit", "EDIT", "any of these as in the edits of a batch: \"remove gpu0-gpu4\"");
}

InputError in_options(const InputError& error, const std::string& kind) {
  const std::string what = error.what();
  const std::size_t own = std::string_view(kCommandLine).size() + 2;
  if (what.rfind(std::string(kCommandLine) + ": ", 0) == 0 &&
      what.substr(0, what.find(": ", own)).find(":/", own) != std::string::npos)
    return InputError(what.substr(own));                       // of a file, which it names
  if (what.rfind(std::string(kCommandLine) + ": ", 0) == 0) {  // "solver: ..."
    const std::string rest = what.substr(own), named = rest.substr(0, rest.find(": "));
    if (rest.rfind("unknown platform ", 0) == 0) return InputError("--platform: " + rest);
    const bool known = query::find_key(query::query_kinds().get(kind).keys(), named) != nullptr ||
                       query::find_key(query::common_keys(), named) != nullptr;
    return known ? InputError(option_of_key(kind, named) + rest.substr(named.size())) : error;
  }
  if (what.rfind(std::string(kCommandLine) + ":/", 0) != 0) return error;
  const std::string key = what.substr(own, what.find_first_of("/:", own) - own);
  return InputError(option_of_key(kind, key) + what.substr(what.find(": ", own)));
}

namespace {

/// One value of a key, as its option takes it.
Json value_of(const query::Key& key, const std::string& text, const std::string& option) {
  if (key.cli.parse) {
    const Json value = key.cli.parse(text, option);
    return key.cli.repeated && key.type != query::ValueType::kObject ? Json::array({value}) : value;
  }
  const auto fail = [&](const char* what) -> InputError { return InputError(option + ": '" + text + "' is " + what); };
  if (key.type == query::ValueType::kFlag) {
    if (text != "true" && text != "false") throw fail("neither true nor false");
    return text == "true";
  }
  if (key.type != query::ValueType::kWhole && key.type != query::ValueType::kNumber) return text;
  const Json value = Json::parse(text, nullptr, false);
  if (!(key.type == query::ValueType::kWhole ? value.is_number_integer() : value.is_number())) throw fail("no number");
  return value;
}

/// The key that is so named, or whose option is.
const query::Key& key_named(const std::string& kind, const std::string& name) {
  std::vector<std::string> known;
  for (const query::KeyTable* table : {&query::query_kinds().get(kind).keys(), &query::common_keys()})
    for (const query::Key& key : *table) {
      if (key.name == name || (!key.cli.name.empty() && long_name(key.cli.name) == "--" + name)) return key;
      known.push_back(key.name);
    }
  throw InputError("--after: '" + name + "' is no key of this command" + did_you_mean(name, known));
}

/// "protocol=Simple" and "NCCL_PROTO=Simple", several of them, as the key `after` of a query.
Json after_of(const std::string& kind, const std::vector<std::string>& texts) {
  Json after = Json::object();
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw InputError("--after: '" + text + "' is not KEY=VALUE, e.g. protocol=Simple or NCCL_PROTO=^LL");
    const std::string name = text.substr(0, equals);
    const bool variable = name.starts_with("NCCL_") || name.starts_with("OFI_NCCL_");
    const query::Key& key = key_named(kind, variable ? "nccl_env" : name);
    const Json value = value_of(key, variable ? text : text.substr(equals + 1), "--after " + name);
    if (after.contains(key.name) && !(value.is_object() && after[key.name].is_object()))
      throw InputError("--after: " + name + " is given twice");
    if (value.is_object() && after.contains(key.name))
      after[key.name].update(value);
    else
      after[key.name] = value;
  }
  return after;
}

}  // namespace

Json run_query(Context& context, const Json& query) {
  Json with_solver = query;
  with_solver["solver"] = context.solver;
  if (const auto edits = context.edit_list(); !edits.empty()) with_solver["edits"] = edits;
  if (!context.after.empty()) with_solver["after"] = after_of(query.at("kind").get<std::string>(), context.after);
  const Heartbeat waiting(context.console(), query.at("kind").get<std::string>());
  try {
    if (context.whatif) return query::whatif_answer(context.catalogue(), with_solver, kCommandLine);
    return query::answer_or_throw(context.catalogue(), with_solver, kCommandLine);
  } catch (const InputError& error) {
    throw in_options(error, query.at("kind").get<std::string>());
  }
}

void print_table(const std::vector<std::vector<std::string>>& rows) { std::cout << table_text(rows); }

void write_out(const std::string& out, const std::string& text) {
  if (out.empty() || out == "-")
    std::cout << text;
  else
    write_file("--out", out, text);
}

void write_file(const std::string& option, const std::string& path, const std::string& text) {
  try {
    write_atomically(path, text);
  } catch (const InputError& error) {
    throw InputError(option + ": " + error.what());
  }
}

void print_warnings(const Json& result) {
  constexpr std::size_t kMost = 3;  // source: ours, for an answer of ten lines
  std::cout.flush();
  const log::Log cli("cli");
  const Json warnings = result.value("warnings", Json::array());
  const std::size_t shown = cli.shows(log::Level::kDebug) ? warnings.size() : std::min(kMost, warnings.size());
  for (std::size_t i = 0; i < shown; ++i) cli.warning("{}", warnings[i].get<std::string>());
  if (shown < warnings.size())
    cli.warning("{} more of what was assumed: -v shows {}", warnings.size() - shown,
                warnings.size() - shown == 1 ? "it" : "them");
}

namespace {

using Cells = std::vector<std::pair<std::string, std::string>>;

std::string plain_text(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool holds_objects(const Json& list) {
  return std::any_of(list.begin(), list.end(), [](const Json& item) { return item.is_object(); });
}

/// "0 1 2"; of lists of lists "0 1 2;0 2 1".
std::string list_text(const Json& list) {
  std::string text;
  for (const Json& item : list)
    text += (text.empty() ? "" : item.is_array() ? ";" : " ") + (item.is_array() ? list_text(item) : plain_text(item));
  return text;
}

void add_cells(const Json& object, const std::string& before, Cells& cells) {
  for (const auto& [key, value] : object.items()) {
    if (key == "inputs" || key == "versions" || key == "warnings") continue;
    if (value.is_object())
      add_cells(value, before + key + ".", cells);
    else if (!value.is_array())
      cells.emplace_back(before + key, plain_text(value));
    else if (!holds_objects(value))
      cells.emplace_back(before + key, list_text(value));
  }
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

Json rows_of_result(const Json& result, const std::string& rows) {
  if (rows.empty()) return Json::array({result});
  Json list = Json::array();
  if (!result[rows].is_object()) {
    for (const Json& row : result[rows]) list.push_back(row.is_object() ? row : Json{{rows, row}});
    return list;
  }
  for (const auto& [name, row] : result[rows].items()) {
    list.push_back({{"name", name}});
    list.back().update(row);
  }
  return list;
}

}  // namespace

void add_format(CLI::App& command, Context& context, const std::vector<std::string>& more) {
  std::vector<std::string> formats{"table", "json", "csv"};
  formats.insert(formats.end(), more.begin(), more.end());
  command.add_flag("--json", context.json, "one JSON object on stdout instead of a table");
  std::string others;
  for (const std::string& one : more) others += ", " + one;
  command
      .add_option_function<std::string>(
          "--format", [&context](const std::string& said) { context.format = said; },
          "table, json, csv" + others + " (default: table)")
      ->check(CLI::IsMember(formats));
}

Json rows_of_files(const Json& files, const std::string& key) {
  Json rows = Json::array();
  for (const Json& file : files)
    for (const Json& row : file[key]) {
      rows.push_back({{"file", file["file"]}});
      rows.back().update(row);
    }
  return rows;
}

std::string csv_of(const Json& rows) {
  std::vector<std::string> columns;
  std::vector<Cells> lines;
  for (const Json& row : rows) {
    add_cells(row, "", lines.emplace_back());
    for (const auto& cell : lines.back())
      if (std::find(columns.begin(), columns.end(), cell.first) == columns.end()) columns.push_back(cell.first);
  }
  std::string text;
  for (const std::string& column : columns) text += (text.empty() ? "" : ",") + csv_cell(column);
  text += "\n";
  for (const Cells& line : lines) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto cell =
          std::find_if(line.begin(), line.end(), [&](const auto& one) { return one.first == columns[i]; });
      text += (i == 0 ? "" : ",") + (cell == line.end() ? "" : csv_cell(cell->second));
    }
    text += "\n";
  }
  return text;
}

bool print_as_data(const Context& context, const Json& result, const std::string& rows) {
  if (context.json) {
    std::cout << naming_stdin(result.dump(2)) << '\n';
    return true;
  }
  if (context.format != OutputFormat::kCsv) return false;
  const Json terms = term_rows(result);
  std::cout << naming_stdin(csv_of(terms.empty() ? rows_of_result(result, rows) : terms));
  print_warnings(result);
  return true;
}

}  // namespace linkcast::cli
