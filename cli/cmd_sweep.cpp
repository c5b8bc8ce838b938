#include <iostream>

#include "cli/command.hpp"
#include "cli/python_program.hpp"
#include "cli/sweep_table.hpp"

namespace linkcast::cli {
namespace {

constexpr int kMostJobs = 4096;

struct SweepOptions {
  std::string study, out, scheduler;
  int jobs = 0;
  bool resume = false, dry_run = false, json = false, table_only = false, table = false;
};

std::vector<std::string> arguments_of(const SweepOptions& o) {
  std::vector<std::string> arguments;
  if (!o.out.empty()) arguments.insert(arguments.end(), {"--out", o.out});
  if (!o.scheduler.empty()) arguments.insert(arguments.end(), {"--scheduler", o.scheduler});
  if (o.jobs > 0) arguments.insert(arguments.end(), {"--jobs", std::to_string(o.jobs)});
  if (o.resume) arguments.emplace_back("--resume");
  if (o.dry_run) arguments.emplace_back("--dry-run");
  if (o.json) arguments.emplace_back("--json");
  if (o.table_only) arguments.emplace_back("--table-only");
  arguments.insert(arguments.end(), {"--", o.study});
  return arguments;
}

}  // namespace

void add_sweep(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("sweep", "a study: every combination of some axes, as one table");
  auto o = std::make_shared<SweepOptions>();
  command->add_option("study", o->study, "study file, see docs/sweep.md; '-': standard input")->required();
  auto* jobs =
      command->add_option("--jobs", o->jobs, "processes (default: one a core)")->check(CLI::Range(1, kMostJobs));
  command
      ->add_option("--scheduler", o->scheduler, "address of a Dask scheduler, e.g. tcp://host:8786, instead of --jobs")
      ->excludes(jobs);
  command->add_option("--out", o->out, "folder of the results (default: <name of the study>.sweep)");
  command->add_flag("--resume", o->resume, "go on with what the folder's journal holds");
  command->add_flag("--table-only", o->table_only, "no plots, page and table.parquet, which cost a second and more");
  command->add_flag("--dry-run", o->dry_run, "only print the scenarios, one query a line");
  command->add_flag("--json", o->json, "one JSON object on stdout at the end: the folder and what is in it");
  command->footer(
      "Example:\n  linkcast sweep docs/sweep/dgx1-subsets.json --jobs 4\nCtrl-C loses nothing: --resume goes on.");
  command->add_flag("--table", o->table, "what this command asks of itself: see write_sweep_table()")->group("");
  command->callback([o, &context] {
    if (o->table)
      write_sweep_table(std::cin, std::cout);
    else
      become_python(context, "sweep", arguments_of(*o));
  });
}

}  // namespace linkcast::cli
