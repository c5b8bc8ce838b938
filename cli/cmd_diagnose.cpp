#include <iostream>

#include "cli/command.hpp"
#include "cli/files.hpp"
#include "sim/base/log.hpp"
#include "validate/diagnosis/diagnose_files.hpp"
#include "validate/diagnosis/report.hpp"

namespace linkcast::cli {
namespace {

struct DiagnoseOptions {
  diagnosis::LogRequest request;
  std::vector<std::string> options;
};

/// Each file against the platform, said as soon as it is known; the worst verdict is the exit code.
Json run_files(const diagnosis::LogRequest& request, Context& context) {
  Json files = Json::array();
  diagnosis::Verdict worst = diagnosis::Verdict::kNormal;
  for (const std::string& path : request.files) {
    const diagnosis::DiagnosedFile file = diagnosis::diagnose_file(context.catalogue(), request, path);
    worst = diagnosis::worse(worst, file.found.verdict);
    context.exit_code = diagnosis::exit_code_of(worst);
    files.push_back(diagnosis::to_json(file));
    if (context.json) continue;
    std::cout << naming_stdin(diagnosis::text_of(file));
    for (const std::string& error : file.found.comparison.unanswered) log::Log("cli").warning("{}", error);
  }
  return files;
}

Json run_fleet(const diagnosis::LogRequest& request, Context& context) {
  const diagnosis::DiagnosedFleet fleet = diagnosis::diagnose_fleet(context.catalogue(), request);
  if (!fleet.normal()) context.exit_code = diagnosis::exit_code_of(diagnosis::Verdict::kFaulty);
  if (!context.json) std::cout << diagnosis::text_of(fleet);
  return diagnosis::to_json(fleet);
}

void run(DiagnoseOptions& o, Context& context) {
  diagnosis::LogRequest& request = o.request;
  if (request.platform.empty() && request.baseline.empty()) throw CLI::RequiredError("--platform or --baseline");
  request.edits = context.edit_list();
  request.format.options = key_values(o.options, "import");
  Json out = Json::object();
  if (!request.platform.empty()) out["platform"] = request.platform;
  if (request.baseline.empty())
    out["files"] = run_files(request, context);
  else
    out["fleet"] = run_fleet(request, context);
  if (!request.platform.empty())
    for (const std::string& note : context.machine(request.platform)->platform().calibration().notes)
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
          ->add_option("file", o->request.files,
                       "output of nccl-tests or rccl-tests, nvbandwidth, p2pBandwidthLatencyTest, OSU, perftest, "
                       "ucx_perftest or DCGM's diagnosis, or measurements; '-': standard input")
          ->required());
  command->add_option("-p,--platform", o->request.platform, "machine that it should be like");
  reads_stdin(
      command
          ->add_option("--baseline", o->request.baseline,
                       "log of another machine of the kind; repeatable: every file is compared with the others, with "
                       "--platform for the causes alone")
          ->allow_extra_args(false));
  command->add_option("--format", o->request.format.format,
                      "format of the files, not of the answer: as of import (default: by what they contain)");
  command
      ->add_option("--option", o->options,
                   "key=value that the files do not print, see 'linkcast help import'; repeatable")
      ->allow_extra_args(false);
  command->add_option("--library", o->request.format.library,
                      "communication library of the collectives (default: the nearest known to what the file names, "
                      "else the platform's)");
  command->add_flag("--force", o->request.force, "compare though the file names other GPUs than the platform has");
  command->add_flag("--json", context.json, "one JSON object on stdout instead of a table");
  add_edits(*command, context);
  command->footer(
      "Example:\n  linkcast diagnose --platform p100-dgx1 p2p.log\n"
      "Exit code 0: normal, 1.5 times slower than a healthy machine is excluded; 4: faulty; 5: cannot tell, and what\n"
      "would decide is said. Faults are tried out as edits and ranked; docs/diagnose.md says how.");
  command->callback([o, &context] { run(*o, context); });
}

}  // namespace linkcast::cli
