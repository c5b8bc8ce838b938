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

/// Where a word is followed by the name of one of the command's options: "set force" is "set --force", and by key and
/// value: "option pcie=4x16" is "--option pcie=4x16".
std::string naming_inside(std::string what, const CLI::App& command) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz_-0123456789";
  for (const std::string word : {"set ", "option "})
    for (std::size_t at = what.find(word); at != std::string::npos; at = what.find(word, at + word.size())) {
      if (at > 0 && what[at - 1] != ' ') continue;
      const std::size_t begin = at + word.size(), end = std::min(what.find_first_not_of(letters, begin), what.size());
      const bool of_value = word == "option " && end < what.size() && what[end] == '=';
      const std::string option = of_value ? "--option" : option_of(what.substr(begin, end - begin));
      if (end == begin || (!of_value && word == "option ") || !has_option(command, option)) continue;
      if (of_value)
        what.insert(at, "--");
      else
        what.replace(begin, end - begin, option);
    }
  return what;
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
