// "linkcast help": any command, and pages that belong to no single one.
#include <iostream>

#include "calibrate/pipelines/import_files.hpp"
#include "cli/command.hpp"
#include "cli/help_format.hpp"
#include "cli/man_page.hpp"
#include "cli/plugin_pages.hpp"
#include "sim/base/near_names.hpp"

namespace linkcast::cli {
namespace {

struct HelpOptions {
  std::vector<std::string> words;
  bool all = false, man = false;
};

const CLI::App* find_below(const CLI::App& command, const std::string& name) {
  const auto found = command.get_subcommands([&](const CLI::App* below) { return below->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

/// Empty: no page of that name.
std::string topic(const CLI::App& app, const std::string& name) {
  if (name == "edits") return edits_page(*app.get_subcommand("rings"));
  if (name == "formats") return formats_page();
  if (name == "applications") return applications_page();
  return "";
}

std::vector<std::string> names_below(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(below->get_name());
  if (command.get_parent() == nullptr) names.insert(names.end(), {"edits", "formats", "applications"});
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
      if (full_name(*at) == "linkcast import") page = format_page(word);
      if (full_name(*at) == "linkcast trace") page = application_page(word);
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
