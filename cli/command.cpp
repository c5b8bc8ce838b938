#include "cli/command.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <string_view>

#include "sim/engine/solvers.hpp"
#include "sim/query/query.hpp"
#include "sim/query/whatif.hpp"
#include "sim/records/atomic_file.hpp"
#include "sim/units/parse.hpp"

namespace linkcast::cli {
namespace fs = std::filesystem;

std::string default_data_dir() {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  for (const fs::path& candidate : {program.parent_path().parent_path(),
                                    program.parent_path().parent_path() / "share" / "linkcast", fs::current_path()})
    if (fs::is_directory(candidate / "topologies") && fs::is_directory(candidate / "models" / "params"))
      return candidate.string();
  throw InputError("--data-dir: no folder with topologies/ and models/params/ near " + program.string() + ": name one");
}

catalogue::Catalogue& Context::catalogue() {
  if (!catalogue_)
    catalogue_ = std::make_unique<catalogue::Catalogue>(data_dir.empty() ? default_data_dir() : data_dir);
  return *catalogue_;
}

void add_common(CLI::App& command, Context& context, std::string& platform) {
  command.add_option("-p,--platform", platform, "machine, see 'linkcast list platforms'")->required();
  command.add_flag("--json", context.json, "one JSON object on stdout instead of a table");
  command.add_option("--solver", context.solver, "fluid (default) or native (SimGrid's own model, the reference)");
  add_edits(command, context);
}

std::vector<std::string> Context::edit_list() const {
  std::vector<std::string> list;
  for (const auto& [verb, arguments] : edits)
    for (const std::string& argument : arguments) list.push_back(verb == "edit" ? argument : verb + " " + argument);
  return list;
}

void add_edits(CLI::App& command, Context& context, bool fabric) {
  const auto option = [&](const std::string& verb, const char* type, const std::string& help) {
    command.add_option("--" + verb, context.edits[verb], help)
        ->type_name(type)
        ->take_all()
        ->allow_extra_args(false)
        ->group("What-if edits (docs/what-if.md), each as often as needed");
  };
  option("disable", "KIND", "every cable of a kind or of kinds that begin so (nvlink), or peer access (p2p)");
  option("remove", "CABLE[:LINKS]", "a cable with all its links, or some of them: gpu0-gpu4, gpu0-gpu4:1");
  option("swap", "CABLE|KIND:KIND", "another kind of cable: nvlink1:nvlink2");
  option("add", "A-B:KIND[:LINKS]", "a new cable, or more links of one: gpu0-gpu5:nvlink2:2");
  option("set", "kind=KIND:bandwidth=RATE", "nominal rate of a kind, or PARAMETER=VALUE of a fitted parameter");
  option("scale", "CABLE|KIND:FACTOR", "rate times a factor: gpu0-gpu4:0.5");
  option("slow", "DEVICE:FACTOR", "all its links, copies and kernels slower: gpu3:1.2");
  option("flaky", "CABLE|KIND:SHARE", "share of its packets that are sent again: gpu0-gpu4:0.05");
  if (fabric) option("fabric", "GENERATOR:KEY=VALUE,...", "another network between nodes: dragonfly:nodes=64");
  option("edit", "EDIT", "any of these as in the edits of a batch: \"remove gpu0-gpu4\"");
}

std::vector<int> parse_gpus(const std::string& text, const std::string& option) {
  const auto fail = [&]() -> InputError {
    return InputError(option + ": '" + text + "' is not a list of GPU numbers: write 0-3 or 0,1,4");
  };
  const auto number = [&](std::string_view part) {
    int value = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size() || value < 0) throw fail();
    return value;
  };
  std::vector<int> gpus;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, comma - begin);
    const std::size_t dash = part.find('-');
    const int first = number(part.substr(0, dash));
    const int last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    constexpr int most = 1000000;  // far above any machine: a typing error, not a request
    if (last < first || last - first > most) throw fail();
    for (int gpu = first; gpu <= last; ++gpu) gpus.push_back(gpu);
    begin = comma + 1;
  }
  return gpus;
}

double parse_size(const std::string& option, const std::string& text) {
  try {
    return parse_bytes(text).si;
  } catch (const UnitError& error) {
    throw InputError(option + ": " + error.what());
  }
}

namespace {
constexpr std::string_view kCommandLine = "command line";

/// "command line:/size_B: ..." names a key of the query: the user wrote --size.
std::string naming_option(const std::string& what) {
  if (what.rfind(std::string(kCommandLine) + ":/", 0) != 0) return what;
  const std::size_t begin = kCommandLine.size() + 2;
  std::string key = what.substr(begin, what.find_first_of("/:", begin) - begin);
  if (key == "size_B") key = "size";
  if (key == "flows") key = "flow";
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key + what.substr(what.find(": ", begin));
}
}  // namespace

Json run_query(Context& context, const Json& query) {
  Json with_solver = query;
  with_solver["solver"] = context.solver;
  if (const auto edits = context.edit_list(); !edits.empty()) with_solver["edits"] = edits;
  try {
    if (context.whatif) return query::whatif_answer(context.catalogue(), with_solver, std::string(kCommandLine));
    return query::answer_or_throw(context.catalogue(), with_solver, std::string(kCommandLine));
  } catch (const InputError& error) {
    throw InputError(naming_option(error.what()));
  }
}

void write_out(const std::string& out, const std::string& text) {
  if (out.empty() || out == "-")
    std::cout << text;
  else
    write_atomically(out, text);
}

void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == width.size()) width.push_back(0);
      width[i] = std::max(width[i], row[i].size());
    }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool number = !row[i].empty() && std::isdigit(static_cast<unsigned char>(row[i][0])) != 0;
      const std::string pad(width[i] - row[i].size(), ' ');
      line += (i ? "  " : "") + (number ? pad + row[i] : row[i] + pad);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    std::cout << line << '\n';
  }
}

void print_warnings(const Json& result) {
  std::cout.flush();
  for (const Json& warning : result.value("warnings", Json::array()))
    std::cerr << "warning: " << warning.get<std::string>() << '\n';
}

}  // namespace linkcast::cli
