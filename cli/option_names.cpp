#include "cli/option_names.hpp"

#include <algorithm>

namespace linkcast::cli {
namespace {

std::string option_of(std::string key) {
  if (key == "size_B") return "--size";
  if (key == "sizes_B") return "--sizes";
  if (key == "flows") return "--flow";
  if (key == "options") return "--option";
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

}  // namespace linkcast::cli
