#include <algorithm>
#include <iostream>

#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/texts.hpp"
#include "sim/place/schedule.hpp"
#include "sim/query/provenance.hpp"

namespace linkcast::cli {
namespace {

struct ScheduleOptions {
  std::string jobs, platform, library;
  std::vector<std::string> policies;
  std::uint64_t seed = 0;
  int nodes = 0;
};

void print_schedule(const Json& result) {
  std::vector<std::vector<std::string>> rows{
      {"policy", "slow-down mean", "alone", "median", "p95", "max", "wait mean", "p95", "makespan", "utilisation"}};
  for (const auto& [policy, one] : result["policies"].items()) {
    const Json& slow = one["slowdown"];
    rows.push_back({policy, fixed(slow["mean"].get<double>(), 3), fixed(one["slowdown_alone"]["mean"].get<double>(), 3),
                    fixed(slow["median"].get<double>(), 3), fixed(slow["p95"].get<double>(), 3),
                    fixed(slow["max"].get<double>(), 3), seconds(one["wait_s"]["mean"]), seconds(one["wait_s"]["p95"]),
                    seconds(one["makespan_s"]), fixed(one["utilisation"].get<double>(), 3)});
  }
  print_table(rows);
  print_warnings(result);
}

void run_schedule(const ScheduleOptions& o, Context& context) {
  const scheduling::JobList list = scheduling::read_job_list(o.jobs);
  const catalogue::MachinePtr edited = context.edited(o.platform);
  scheduling::Machine machine(context.catalogue(), edited, o.nodes, o.library);
  const std::vector<std::string> known = scheduling::Machine::policies();
  std::string all;
  for (const std::string& policy : known) all += (all.empty() ? "" : ", ") + policy;
  for (const std::string& policy : o.policies)
    if (std::find(known.begin(), known.end(), policy) == known.end())
      throw InputError("--policy: '" + policy + "' is none of " + all);
  Json result{{"jobs", list.name}, {"platform", o.platform}, {"gpus", machine.gpus()}, {"seed", o.seed}};
  for (const std::string& policy : o.policies.empty() ? known : o.policies)
    result["policies"][policy] = scheduling::schedule_json(
        scheduling::schedule(list, machine, policy, o.seed, context.progress()), machine.gpus());
  result["warnings"] = list.notes;
  Json query{{"kind", "schedule"}, {"jobs", o.jobs}, {"platform", o.platform}, {"seed", o.seed}};
  if (o.nodes > 0) query["nodes"] = o.nodes;
  if (!o.library.empty()) query["library"] = o.library;
  if (!o.policies.empty()) query["policies"] = o.policies;
  query::put_provenance(*edited, query, "", result);
  if (!print_as_data(context, result, "policies")) print_schedule(result);
}

}  // namespace

void add_schedule(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("schedule", "a day of jobs on a machine under placement policies, and what each costs");
  auto o = std::make_shared<ScheduleOptions>();
  reads_stdin(command->add_option("jobs", o->jobs, "job list, JSON Lines (docs/scheduling.md)")->required());
  add_common(*command, context, o->platform);
  command
      ->add_option("--policy", o->policies,
                   "linkcast, first-fit, packed, spread, nvlink (most NVLink inside the set) or random; repeatable "
                   "(default: all)")
      ->allow_extra_args(false);
  command->add_option("--seed", o->seed, "of policy random, default 0");
  command->add_option("--nodes", o->nodes, "the first ones of the platform on its fabric (default: one node alone)")
      ->check(CLI::PositiveNumber);
  command->add_option("--library", o->library, "communication library (default: the platform's)");
  command->footer("Example:\n  linkcast schedule apps-traces/jobs/day-dgx1.jsonl --platform v100-dgx1");
  command->callback([o, &context] { run_schedule(*o, context); });
}

}  // namespace linkcast::cli
