#include <algorithm>
#include <filesystem>
#include <iostream>

#include "cli/command.hpp"
#include "cli/diagnose_log.hpp"
#include "cli/diagnose_print.hpp"
#include "cli/stdin_file.hpp"
#include "sim/log/log.hpp"
#include "sim/plugin/library.hpp"

namespace linkcast::cli {
namespace {

/// Each file against the platform.
Json run_files(const DiagnoseOptions& o, Context& context) {
  const Platform& platform = context.catalogue().platform(o.platform);
  Json files = Json::array();
  for (const std::string& path : o.files) {
    const DiagnosedLog log = read_log(o, platform.topology().name, path);
    if (!o.force) check_gpus(log, platform, o.platform);
    const diagnosis::Bench bench(context.catalogue(), o.platform, context.edit_list(), log.measurement);
    if (bench.comparison().points.empty()) throw InputError(path + ": " + bench.comparison().unanswered.front());
    const diagnosis::Diagnosis found = bench.diagnose();
    if (!found.normal()) context.exit_code = kComparisonFailed;
    const Json facts = facts_of(log);
    Json one = diagnosis::to_json(found);
    one["file"] = path;
    one["log"] = facts;
    files.push_back(one);
    if (context.json) continue;
    print_diagnosis(naming_stdin(path), facts, found, bench);
    const std::vector<diagnosis::RankedKind> likely = diagnosis::likely_kinds(found);
    if (!likely.empty() && diagnosis::names_one(likely.front())) {
      const std::string bus = bus_text(log, platform, likely.front().candidates.front().part);
      if (!bus.empty()) std::cout << bus << '\n';
    }
    if (const std::string library = library_text(o, log); !library.empty())
      std::cout << "expected of " << library << '\n';
  }
  return files;
}

/// Files of --baseline too, each name once.
std::vector<std::string> fleet_names(const DiagnoseOptions& o) {
  std::vector<std::string> names = o.files;
  for (const std::string& path : o.baseline) {
    const auto same = [&](const std::string& name) {
      std::error_code none;
      return name == path || std::filesystem::equivalent(name, path, none);
    };
    if (std::none_of(names.begin(), names.end(), same)) names.push_back(path);
  }
  return names;
}

/// Causes of the slow ones beside the others.
std::map<std::string, diagnosis::Ranking> fleet_causes(const DiagnoseOptions& o, Context& context,
                                                       const std::vector<DiagnosedLog>& logs,
                                                       const std::vector<diagnosis::FleetMember>& members) {
  std::map<std::string, diagnosis::Ranking> causes;
  if (o.platform.empty()) return causes;
  const std::string id = context.edited(o.platform);
  std::vector<validate::Comparison> compared;
  for (const DiagnosedLog& log : logs) {
    if (!o.force) check_gpus(log, context.catalogue().platform(o.platform), o.platform);
    compared.push_back(validate::compare(context.catalogue(), log.measurement, {}, id));
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!members[i].slow) continue;
    std::vector<validate::Comparison> rest = compared;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const diagnosis::Bench bench(context.catalogue(), o.platform, context.edit_list(), logs[i].measurement);
    causes.emplace(members[i].name, diagnosis::causes_beside(bench, rest));
  }
  return causes;
}

/// All files beside each other.
Json run_fleet(const DiagnoseOptions& o, Context& context) {
  const std::string topology = o.platform.empty() ? "fleet" : context.catalogue().platform(o.platform).topology().name;
  std::vector<DiagnosedLog> logs;
  std::vector<diagnosis::FleetLog> fleet;
  for (const std::string& path : fleet_names(o)) {
    logs.push_back(read_log(o, topology, path));
    fleet.push_back(diagnosis::fleet_log(path, logs.back().measurement));
  }
  const std::vector<diagnosis::FleetMember> members = diagnosis::fleet_of(fleet);
  const auto causes = fleet_causes(o, context, logs, members);
  Json out = Json::array();
  for (const diagnosis::FleetMember& member : members) {
    if (member.slow) context.exit_code = kComparisonFailed;
    out.push_back(diagnosis::to_json(member));
    const auto found = causes.find(member.name);
    if (found == causes.end()) continue;
    out.back()["causes"] = Json::array();
    for (const diagnosis::RankedKind& kind : diagnosis::likely_kinds(found->second))
      out.back()["causes"].push_back(diagnosis::to_json(kind));
  }
  if (!context.json) print_fleet(members, causes);
  return out;
}

void run(const DiagnoseOptions& o, Context& context) {
  if (o.platform.empty() && o.baseline.empty()) throw CLI::RequiredError("--platform or --baseline");
  if (!o.library.empty())
    static_cast<void>(libraries().get(o.library));  // throws on an unknown one, with the known ones
  Json out = Json::object();
  if (!o.platform.empty()) out["platform"] = o.platform;
  if (o.baseline.empty())
    out["files"] = run_files(o, context);
  else
    out["fleet"] = run_fleet(o, context);
  if (!o.platform.empty())
    for (const std::string& note : context.catalogue().platform(o.platform).calibration().notes)
      log::Log("cli").warning("{}", note);
  print_as_data(context, out);
}

}  // namespace

void add_diagnose(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("diagnose", "is what a benchmark printed normal for this machine, and if not, what is wrong?");
  auto o = std::make_shared<DiagnoseOptions>();
  reads_stdin(
      command
          ->add_option("file", o->files,
                       "output of nccl-tests or rccl-tests, nvbandwidth, p2pBandwidthLatencyTest, OSU, perftest, "
                       "ucx_perftest or DCGM's diagnosis, or measurements; '-': standard input")
          ->required());
  command->add_option("-p,--platform", o->platform, "machine that it should be like");
  reads_stdin(
      command
          ->add_option("--baseline", o->baseline,
                       "log of another machine of the kind; repeatable: every file is compared with the others, with "
                       "--platform for the causes alone")
          ->allow_extra_args(false));
  command->add_option("--format", o->format,
                      "format of the files, not of the answer: as of import (default: by what they contain)");
  command
      ->add_option("--option", o->options,
                   "key=value that the files do not print, see 'linkcast help import'; repeatable")
      ->allow_extra_args(false);
  command->add_option("--library", o->library,
                      "communication library of the collectives (default: the nearest known to what the file names, "
                      "else the platform's)");
  command->add_flag("--force", o->force, "compare though the file names other GPUs than the platform has");
  command->add_flag("--json", context.json, "one JSON object on stdout instead of a table");
  add_edits(*command, context);
  command->footer(
      "Example:\n  linkcast diagnose --platform p100-dgx1 p2p.log\n"
      "Faults are tried out as edits and ranked by how well they explain the file; docs/diagnose.md says how. Slow or\n"
      "fast is what lies more than 10 % outside its 90 % interval. Exit code 4: something is wrong.");
  command->callback([o, &context] { run(*o, context); });
}

}  // namespace linkcast::cli
