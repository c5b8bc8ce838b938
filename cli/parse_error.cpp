#include "cli/parse_error.hpp"

#include <algorithm>

#include "cli/option_names.hpp"
#include "sim/base/near_names.hpp"

namespace linkcast::cli {
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

}  // namespace

std::string parse_error_text(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = running_command(app);
  const std::vector<std::string> left = command.remaining();
  const auto option =
      std::find_if(left.begin(), left.end(), [](const std::string& word) { return word.starts_with("--"); });
  if (option != left.end()) {
    const std::string name = option->substr(0, option->find('='));
    return "unknown option " + name + did_you_mean(name, option_names_of(command)) + " (see --help)";
  }
  const std::vector<std::string> below = subcommand_names_of(command);
  if (!left.empty() && !below.empty() && !left.front().starts_with('-')) {
    const std::string what = command.get_parent() == nullptr ? "subcommand" : "subcommand of " + command.get_name();
    return "unknown " + what + " '" + left.front() + "'" + did_you_mean(left.front(), below) + " (see --help)";
  }
  std::string what = member_text(error.what());
  std::replace(what.begin(), what.end(), '\n', ' ');
  return what + " (see --help)";
}

}  // namespace linkcast::cli
