#include "cli/option_names.hpp"

#include <algorithm>
#include <map>

#include "cli/file_kind.hpp"
#include "sim/base/text.hpp"
#include "sim/query/query_kind.hpp"

namespace linkcast::cli {
namespace {

std::string option_of(std::string key) {
  static const std::map<std::string, std::string> kOthers = {
      {"size_B", "--size"}, {"sizes_B", "--sizes"}, {"flows", "--flow"}, {"options", "--option"}};
  if (const auto other = kOthers.find(key); other != kOthers.end()) return other->second;
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

bool has_option(const CLI::App& command, const std::string& option) {
  return command.get_option_no_throw(option) != nullptr;
}

const std::string kKeyLetters = "abcdefghijklmnopqrstuvwxyz_-0123456789";

/// The option of a key in the middle of a text, if the command has it: "set force" is "set --force", "by max_memory"
/// "by --max-memory" (no other word has an underscore), and "option pcie=4x16" "--option pcie=4x16".
std::string naming_inside(const std::string& what, const CLI::App& command) {
  std::string text, before;
  for (std::size_t begin = 0; begin < what.size();) {
    const std::size_t end = std::min(what.find(' ', begin), what.size());
    std::string word = what.substr(begin, end - begin);
    const std::size_t length = std::min(word.find_first_not_of(kKeyLetters), word.size());
    const std::string key = word.substr(0, length), rest = word.substr(length);
    const bool is_key = before == "set" || (begin > 0 && key.find('_') != std::string::npos);
    if (before == "option" && rest.starts_with("=") && has_option(command, "--option"))
      text.insert(text.size() - std::string("option ").size(), "--");
    else if (is_key && rest.size() < 2 && has_option(command, option_of(key)))
      word = option_of(key) + rest;
    text += word + (end < what.size() ? " " : "");
    before = word;
    begin = end + 1;
  }
  return text;
}

/// "... needs nodes" is "... needs --nodes".
std::string naming_needed(const std::string& what, const CLI::App& command) {
  const std::string needs = "needs ";
  const std::size_t at = what.rfind(needs);
  if (at == std::string::npos) return what;
  const std::string option = option_of(what.substr(at + needs.size()));
  return has_option(command, option) ? what.substr(0, at + needs.size()) + option : what;
}

}  // namespace

std::string naming_option(const std::string& text, const CLI::App& command) {
  const std::string what = naming_inside(text, command);
  const std::string query = std::string(kCommandLine) + ":";
  if (what.starts_with(query + " option ")) return query + " --" + what.substr(query.size() + 1);
  if (what.starts_with(query + "/")) {
    const std::size_t begin = query.size() + 1;
    return option_of(what.substr(begin, what.find_first_of("/:", begin) - begin)) + what.substr(what.find(": ", begin));
  }
  const std::string key = what.substr(0, what.find_first_of(": "));
  if (key.empty() || key.size() == what.size()) return what;
  const std::string rest = what.substr(key.size());
  const bool of_option = key == "option" && rest.find(':') != std::string::npos;
  const std::string option = option_of(key);
  if (!has_option(command, option) || !(of_option || rest.starts_with(": "))) return what;
  return option + naming_needed(rest, command);
}

const CLI::App& running_command(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app : running_command(*given.front());
}

namespace {

std::vector<std::string> option_names_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> subcommand_names_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(below->get_name());
  return names;
}

/// Whether one of these commands has the option.
bool takes(const std::vector<const CLI::App*>& commands, const std::string& option) {
  return std::any_of(commands.begin(), commands.end(), [&](const CLI::App* command) {
    const std::vector<std::string> names = option_names_of(*command);
    return std::find(names.begin(), names.end(), option) != names.end();
  });
}

/// "'what' is not allowed: one of a, b" of CLI11's "what: x not in {a,b}".
std::string member_text(const std::string& text) {
  const std::size_t value = text.find(": "), in = text.find(" not in {"), end = text.rfind('}');
  if (value == std::string::npos || in == std::string::npos || end == std::string::npos || in < value) return text;
  const std::string given = text.substr(value + 2, in - value - 2);
  const std::size_t first = in + std::string(" not in {").size();
  std::vector<std::string> known{""};
  for (const char c : text.substr(first, end - first))
    if (c == ',')
      known.emplace_back();
    else
      known.back() += c;
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  return text.substr(0, value) + ": '" + given + "' is not allowed" + did_you_mean(given, known) + ": one of " + list;
}

/// "--nodes: '1,2' is no number" of CLI11's "Could not convert: --nodes = 1,2".
std::string conversion_text(const std::string& text) {
  const std::string begin = "Could not convert: ";
  const std::size_t equals = text.find(" = ");
  if (!text.starts_with(begin) || equals == std::string::npos) return text;
  const std::string option = text.substr(begin.size(), equals - begin.size()), given = text.substr(equals + 3);
  const bool several = given.find(',') != std::string::npos || given.find("..") != std::string::npos;
  return option + ": '" + given + "' is no number" + (several ? ": several are a study, see 'linkcast sweep'" : "");
}

}  // namespace

std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = running_command(app);
  const std::vector<std::string> left = command.remaining();
  const std::vector<std::string> below = subcommand_names_of(command);
  if (!left.empty() && !below.empty() && !left.front().starts_with('-')) {
    if (const std::string file = text_without_command(left.front()); !file.empty() && command.get_parent() == nullptr)
      return file;
    const std::string what = command.get_parent() == nullptr ? "subcommand" : "subcommand of " + command.get_name();
    return "unknown " + what + " '" + left.front() + "'" + did_you_mean(left.front(), below) + " (see --help)";
  }
  const auto option = std::find_if(left.begin(), left.end(),
                                   [](const std::string& word) { return word.starts_with("--") && word != "--"; });
  if (option != left.end()) {
    const std::string name = option->substr(0, option->find('='));
    if (command.get_parent() != nullptr && takes(command.get_subcommands([](const CLI::App*) { return true; }), name))
      return command.get_name() + " needs one of " + linkcast::joined(below) + " before " + name + " (see --help)";
    return "unknown option " + name + did_you_mean(name, option_names_of(command)) + " (see --help)";
  }
  if (!left.empty() && left.front() != "--")
    return "not expected: '" + left.front() +
           "'; an option takes one value, several as 0,1,2 or with the option repeated "
           "(see --help)";
  std::string what = conversion_text(member_text(error.what()));
  std::replace(what.begin(), what.end(), '\n', ' ');
  return what + " (see --help)";
}

std::string long_name(const std::string& names) { return names.substr(names.rfind(',') + 1); }

std::string option_help(const query::Key& key) {
  std::string text = key.help;
  if (!key.listed.empty() && text.find("linkcast list") == std::string::npos)
    text += ", see 'linkcast list " + key.listed + "'";
  return key.unset.empty() ? text : text + " (default: " + key.unset + ")";
}

std::string option_of_key(const std::string& kind, const std::string& key) {
  for (const query::KeyTable* table : {&query::query_kinds().get(kind).keys(), &query::common_keys()})
    if (const query::Key* row = query::find_key(*table, key); row != nullptr && !row->cli.name.empty())
      return long_name(row->cli.name);
  std::string name = "--" + key;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace linkcast::cli
