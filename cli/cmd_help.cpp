// "linkcast help": any command, and pages that belong to no single one.
#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>
#include <string>

#include "calibrate/pipelines/import_files.hpp"
#include "cli/command.hpp"
#include "cli/help_format.hpp"
#include "cli/plugin_pages.hpp"
#include "cli/texts.hpp"
#include "sim/base/text.hpp"
#include "sim/query/provenance.hpp"

namespace linkcast::cli {
namespace {

/// Backslashes, dashes that are typed, and lines that would begin a request.
std::string escaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = i == 0 || text[i - 1] == '\n';
    if (starts && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    if (text[i] == '\\')
      out += "\\e";
    else if (text[i] == '-')
      out += "\\-";
    else
      out += text[i];
  }
  return out;
}

void add_options(const CLI::App& command, const std::string& group, std::ostream& out) {
  for (const CLI::Option* option : command.get_options(
           [&](const CLI::Option* one) { return one->get_group() == group || one->get_positional(); })) {
    if (option->get_positional() && group != "Options") continue;
    const bool help = option->check_lname("help") || option->check_lname("help-all");
    if (help && command.get_parent() != nullptr) continue;  // said of the program
    const std::string name = option->get_name(option->get_positional(), !option->get_positional());
    out << ".TP\n\\fB" << escaped(name) << "\\fR\n" << escaped(option->get_description()) << '\n';
  }
}

void add_command(const CLI::App& command, std::ostream& out) {
  out << ".SH " << escaped(full_name(command)) << '\n' << escaped(command.get_description()) << ".\n";
  add_options(command, "Options", out);
  if (!options_of_group(command, kEditGroup).empty()) out << ".PP\nTakes what\\-if edits, see EDITS.\n";
  if (!command.get_footer().empty()) out << ".PP\n.nf\n" << escaped(command.get_footer()) << "\n.fi\n";
  if (command.get_name() == "whatif") return;  // its commands stand alone too
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) add_command(*below, out);
}

/// All commands, from the texts of --help, in the language of man(7).
std::string man_page(const CLI::App& app) {
  std::ostringstream out;
  out << ".TH LINKCAST 1 \"\" \"linkcast " << query::build_version() << "\" \"User Commands\"\n"
      << ".SH NAME\nlinkcast \\- forecasts what a GPU interconnect will do\n"
      << ".SH SYNOPSIS\n.B linkcast\nCOMMAND [OPTIONS]\n"
      << ".SH DESCRIPTION\n"
      << escaped(app.get_description()) << '\n';
  add_options(app, "Options", out);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) add_command(*command, out);
  out << ".SH EDITS\n";
  add_options(*app.get_subcommand("rings"), kEditGroup, out);
  out << ".SH EXIT STATUS\n0 done; 1 a batch or a study holds errors, or what the other codes do not say; 2 bad "
         "input,\n"
         "one line says what; 3 an invariant is broken; 4 a claim or a comparison failed.\n";
  return out.str();
}

struct HelpOptions {
  std::vector<std::string> words;
  bool all = false, man = false;
};

const CLI::App* find_below(const CLI::App& command, const std::string& name) {
  const auto found = command.get_subcommands([&](const CLI::App* below) { return below->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

/// Pages that are no command's, by name.
const std::vector<std::pair<std::string, std::string (*)(const CLI::App&)>> kTopics = {
    {"edits", [](const CLI::App& app) { return edits_page(*app.get_subcommand("rings")); }},
    {"formats", [](const CLI::App&) { return formats_page(); }},
    {"applications", [](const CLI::App&) { return applications_page(); }}};

/// Pages of the words behind a command.
const std::map<std::string, std::string (*)(const std::string&)> kWordPages = {
    {"linkcast import", [](const std::string& format) { return format_page(format); }},
    {"linkcast trace", [](const std::string& application) { return application_page(application); }}};

/// Empty: no page of that name.
std::string topic(const CLI::App& app, const std::string& name) {
  for (const auto& [known, page] : kTopics)
    if (known == name) return page(app);
  return "";
}

std::vector<std::string> names_below(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(below->get_name());
  if (command.get_parent() == nullptr)
    for (const auto& [name, page] : kTopics) names.push_back(name);
  if (full_name(command) == "linkcast import") names = pipelines::import_formats();
  return names;
}

std::string page_for(const CLI::App& app, const HelpOptions& o) {
  const CLI::App* at = &app;
  for (const std::string& word : o.words) {
    const CLI::App* below = find_below(*at, word);
    std::string page;
    if (below == nullptr && &word == &o.words.back()) {
      if (at == &app) page = topic(app, word);
      if (const auto pages = kWordPages.find(full_name(*at)); pages != kWordPages.end()) page = pages->second(word);
      if (!page.empty()) return page;
    }
    if (below == nullptr) throw unknown_name("topic of help", word, names_below(*at));
    at = below;
  }
  return help_of(*at, o.all);
}

}  // namespace

void add_help(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("help", "what a command takes, or a page: edits, formats, applications");
  auto o = std::make_shared<HelpOptions>();
  command->add_option("topic", o->words, "command and what is below it, or a page (default: all commands)");
  command->add_flag("--all", o->all, "every option of the command, as --help-all");
  command->add_flag("--man", o->man, "all commands as a page for man");
  command->footer(
      "Example:\n  linkcast help predict collective\n  linkcast help edits\n  linkcast help import nccl-tests");
  command->callback([o, &app] { std::cout << (o->man ? man_page(app) : page_for(app, *o)); });
}

}  // namespace linkcast::cli
