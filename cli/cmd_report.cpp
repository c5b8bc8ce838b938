#include "cli/command.hpp"
#include "cli/python_program.hpp"

namespace linkcast::cli {

void add_report(CLI::App& app, Context& context) {
  struct Options {
    std::vector<std::string> results;
    std::string out, title;
    bool json = false;
  };
  auto* command = app.add_subcommand("report", "one HTML page of results: charts, inputs, versions, warnings");
  auto o = std::make_shared<Options>();
  command
      ->add_option(
          "result", o->results,
          "what --json of any command, predict --batch, validate --report or sweep wrote: JSON, JSON Lines, a sweep's "
          "table.csv; several results of one kind are one curve; '-': standard input")
      ->required();
  command->add_option("--out", o->out, "page to write")->required()->type_name("FILE.html");
  command->add_option("--title", o->title, "of the page (default: made of what the results are)");
  command->add_flag("--json", o->json, "one JSON object on stdout: page, sections, bytes");
  command->footer(
      "Example:\n  linkcast report run.json answers.jsonl --out report.html\n"
      "The page holds all it needs: it opens without a network.");
  command->callback([o, &context] {
    std::vector<std::string> arguments = {"--out", o->out};
    if (!o->title.empty()) arguments.insert(arguments.end(), {"--title", o->title});
    if (o->json) arguments.emplace_back("--json");
    arguments.emplace_back("--");
    arguments.insert(arguments.end(), o->results.begin(), o->results.end());
    become_python(context, "report", arguments);
  });
}

}  // namespace linkcast::cli
