#include "cli/help_format.hpp"

#include <algorithm>

#include "cli/texts.hpp"

namespace linkcast::cli {
namespace {

constexpr std::size_t kMostHelpLines = 60;
constexpr std::size_t kTextColumn = 24;

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// "--nvls", of "-p,--platform" the long one.
std::string long_option(const CLI::Option& option) {
  const auto& names = option.get_lnames();
  return names.empty() ? "-" + option.get_snames().front() : "--" + names.front();
}

/// Without what CLI11's checks add: "TEXT:{table,json,csv}", "INT:INT in [0 - 9]", "INT:POSITIVE".
std::string plain_type(const std::string& type) {
  for (const std::string base : {"TEXT", "INT", "UINT", "FLOAT"})
    if (type.starts_with(base + ":")) return base;
  const std::size_t checked = type.find(":{");
  return checked == std::string::npos ? type : type.substr(0, checked);
}

/// "-p,--platform TEXT": "{false}" of a flag's opposite is for CLI11 alone.
std::string left_of(const CLI::Option& option, bool is_positional) {
  std::string name = option.get_name(is_positional, !is_positional);
  while (name.find("{false}") != std::string::npos) name.erase(name.find("{false}"), 7);
  const bool takes = option.get_type_size() != 0 && !is_positional;
  if (takes) name += " " + plain_type(option.get_type_name());
  const bool several = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  return "  " + name + (several && option.get_type_size() != 0 ? " ..." : "");
}

std::string names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(long_option(*option));
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += " " + name;
  return text;
}

std::string right_of(const CLI::Option& option) {
  std::string text = option.get_description(), notes;
  if (option.get_type_size() != 0 && !option.get_default_str().empty())
    text += " (default: " + option.get_default_str() + ")";
  if (option.get_required()) notes = "required";
  if (!option.get_needs().empty()) notes += (notes.empty() ? "needs" : ", needs") + names_of(option.get_needs());
  return notes.empty() ? text : text + " [" + notes + "]";
}

std::string subcommands_of(const HelpFormatter& formatter, const CLI::App& app) {
  std::string text;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* sub) { return !sub->get_group().empty(); }))
    text += formatter.make_subcommand(command);
  return text.empty() ? "" : "\nCommands:\n" + text;
}

/// All that stands behind the options.
std::string end_of_help(const HelpFormatter& formatter, const CLI::App& app) {
  std::string text = subcommands_of(formatter, app);
  if (!options_of_group(app, kEditGroup).empty())
    text += "\nWhat-if edits (--remove gpu0-gpu4, --slow gpu3:1.2, ...): linkcast help edits\n";
  const std::string footer = formatter.make_footer(&app);
  return footer.empty() ? text : text + "\n" + footer;
}

}  // namespace

std::vector<const CLI::Option*> options_of_group(const CLI::App& command, const std::string& group) {
  return command.get_options(
      [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  return two_columns(left_of(*option, is_positional), right_of(*option), kTextColumn);
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  constexpr std::size_t behind_name = 13;
  return two_columns("  " + command->get_name(), command->get_description(), behind_name);
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  return app->get_footer().empty() ? "" : wrapped_lines(app->get_footer()) + "\n";
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string text;
  for (const std::string& line : wrapped(app->get_description(), kColumns)) text += line + "\n";
  text += make_usage(app, std::move(name));
  const auto positionals = app->get_options([](const CLI::Option* option) { return option->get_positional(); });
  if (!positionals.empty()) text += "\nArguments:\n";
  for (const CLI::Option* option : positionals) text += make_option(option, true);
  const std::string end = end_of_help(*this, *app);
  constexpr std::size_t heading = 2, names = 7;
  const std::size_t taken = line_count(text) + heading + line_count(end);
  const std::size_t room = kMostHelpLines > taken ? kMostHelpLines - taken : 0;
  std::vector<std::string> parts;
  std::size_t lines = 0, shown = 0, used = 0;
  auto options = options_of_group(*app, "Options");  // those that are typed most first: they have a letter
  std::stable_partition(options.begin(), options.end(),
                        [](const CLI::Option* option) { return !option->get_snames().empty(); });
  for (const CLI::Option* option : options) {
    parts.push_back(make_option(option, false));
    lines += line_count(parts.back());
  }
  const bool all = mode == CLI::AppFormatMode::All || lines <= room;
  text += options.empty() ? "" : "\nOptions:\n";
  for (; shown < parts.size() && (all || used + line_count(parts[shown]) + names <= room); ++shown) {
    used += line_count(parts[shown]);
    text += parts[shown];
  }
  if (shown == parts.size()) return text + end;
  std::string others;
  for (; shown < options.size(); ++shown) others += " " + long_option(*options[shown]);
  text += "\nMore options, which --help-all explains:\n";
  for (const std::string& line : wrapped(others, kColumns - 2)) text += "  " + line + "\n";
  return text + end;
}

std::string full_name(const CLI::App& command) {
  return command.get_parent() == nullptr ? command.get_name()
                                         : full_name(*command.get_parent()) + " " + command.get_name();
}

std::string help_of(const CLI::App& command, bool all) {
  return command.get_formatter()->make_help(&command, full_name(command),
                                            all ? CLI::AppFormatMode::All : CLI::AppFormatMode::Normal);
}

std::string edits_page(const CLI::App& command) {
  std::string text =
      "What-if edits change the machine before the answer (docs/what-if.md). Each may\n"
      "be given as often as needed, or as a list: --remove gpu0-gpu4,gpu1-gpu5. show,\n"
      "predict, routes, rings, replay, place, schedule, diagnose, validate and emulate\n"
      "take them; `linkcast whatif COMMAND` prints before, after and change.\n\n";
  for (const CLI::Option* option : options_of_group(command, kEditGroup))
    text += HelpFormatter().make_option(option, false);
  return text;
}

}  // namespace linkcast::cli
