#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <iostream>

#include "calibrate/pipelines/fit_machine.hpp"
#include "calibrate/pipelines/import_files.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/texts.hpp"
#include "sim/base/log.hpp"
#include "sim/base/parse.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast::cli {
namespace {

struct FitOptions {
  pipelines::MachineFit fit;
  std::string out, fit_report, report;
};

std::string figure(double value) { return fmt::format("{:.4g}", value); }

void print_report(const fit::FitResult& result) {
  std::vector<std::vector<std::string>> table = {{"parameter", "value", "standard error", "provenance"}};
  for (const auto& [name, p] : result.calibration.parameters)
    table.push_back(
        {name, fmt::format("{:.6g}", p.value), fmt::format("{:.2g}", p.stderr_), p.unit + "  " + p.provenance});
  print_table(table);
  std::cout << "\non the fitted data itself (not held out):\n";
  table = {{"transport", "samples", "median error", "95 %"}};
  for (const fit::FitQuality& q : result.quality)
    table.push_back({q.transport, std::to_string(q.samples), fmt::format("{:.2f} %", 100 * q.median_error),
                     fmt::format("{:.2f} %", 100 * q.p95_error)});
  print_table(table);
  for (const std::string& missing : result.undetermined)
    std::cout << "not determined by these data: " << missing << '\n';
  for (const fit::PairClasses& classes : result.classes)
    for (const auto* lines : {&classes.unlike, &classes.alike})
      for (const std::string& line : *lines) std::cout << "pairs: " << line << '\n';
  for (const std::string& line : fit::lines_of(result.suspicious)) std::cout << "repetitions: " << line << '\n';
}

void print_lesson(const learn::Lesson& lesson) {
  std::cout << "\nlearned from " << lesson.points.size() << " collectives, which the forecast meets within "
            << percent(std::expm1(lesson.sigma)) << " (standard deviation; fitted, not held out):\n";
  std::vector<std::vector<std::string>> table = {{"parameter", "value", "spread", "prior", "spread", ""}};
  for (const learn::Taught& t : lesson.parameters)
    table.push_back({t.name, figure(t.estimate.value), percent(t.estimate.spread), figure(t.prior.value),
                     percent(t.prior.spread), t.estimate.determined ? "learned" : "not determined"});
  print_table(table);
}

void print_held_out(const std::vector<pipelines::HeldOutPart>& parts) {
  std::vector<std::vector<std::string>> table = {
      {"left out", "library", "nodes", "operation", "sizes", "points", "median", "95 %", "bias", "in interval"}};
  for (const pipelines::HeldOutPart& part : parts)
    for (const learn::AccuracyRow& r : part.rows)
      table.push_back({r.left_out, r.library, std::to_string(r.nodes), r.op, r.sizes, std::to_string(r.points),
                       percent(r.median), percent(r.p95), signed_percent(r.bias), percent(r.coverage)});
  if (table.size() == 1) return;
  std::cout << "\nforecasts of what was left out:\n";
  print_table(table);
}

void run_fit(Context& context, FitOptions& o) {
  o.fit.residuals = !o.report.empty();
  const std::string residuals = o.report.empty() ? "" : (std::filesystem::path(o.report) / "residuals.json").string();
  std::vector<std::string> read = o.fit.measurements;
  read.push_back(o.fit.topology);
  for (const auto* ids : {&o.fit.inherit, &o.fit.inherit_library}) read.insert(read.end(), ids->begin(), ids->end());
  std::erase_if(read, [](const std::string& path) { return !std::filesystem::exists(path); });  // names of machines
  check_outputs({{"--out", o.out}, {"--fit-report", o.fit_report}, {"--report", residuals}}, read);
  const pipelines::FittedMachine fitted = pipelines::fit_machine(context.catalogue(), o.fit);
  if (!o.report.empty()) {
    std::filesystem::create_directories(o.report);
    write_file("--report", residuals, fitted.residuals.dump(1) + "\n");
  }
  if (!o.fit_report.empty())
    write_file("--fit-report", o.fit_report, naming_stdin(fit::report_of(fitted.fit).dump(1)) + "\n");
  if (!o.out.empty()) write_file("--out", o.out, naming_stdin(fit::to_json(fitted.fit).dump(1)) + "\n");
  if (context.json) {
    std::cout << pipelines::to_json(fitted).dump(1) << '\n';
    return;
  }
  if (fitted.lesson) print_lesson(*fitted.lesson);
  print_held_out(fitted.held_out);
  if (o.fit.leave_out.empty()) print_report(fitted.fit);
}

double parse_option_seconds(const std::string& option, const std::string& text) {
  try {
    return parse_seconds(text).si;
  } catch (const UnitError& error) {
    throw InputError(option + ": " + error.what());
  }
}

struct TraceFit {
  std::string trace, platform, local_step, out;
};

/// Copies the trace with a fitted host_scale in its header.
void run_trace_fit(Context& context, const TraceFit& o) {
  const double step_s = parse_option_seconds("--local-step", o.local_step);
  std::vector<std::string> read = {o.trace};
  for (const catalogue::ShippedTrace& shipped : catalogue::shipped_traces(context.catalogue().data_dir()))
    if (shipped.name == o.trace) read.push_back(shipped.path);
  check_outputs({{"--out", o.out}}, read);
  DraftFile file("--out", o.out);  // before the fit, which takes its time
  const double scale =
      pipelines::fit_recorded_host(context.catalogue(), o.trace, o.platform, step_s, [&](std::string_view lines) {
        file.out() << lines;
        file.check();
      });
  file.close();
  log::Log("cli").note("host_scale {:.6g}", scale);
}

void add_trace_fit(CLI::App& calibrate, Context& context) {
  auto* command = calibrate.add_subcommand("trace", "fit how much a recording slowed the CPU down");
  auto o = std::make_shared<TraceFit>();
  reads_stdin(command->add_option("trace", o->trace, "imported trace with step markers, or a shipped one by its name")
                  ->required(),
              Pipes::kStreamed);
  command->add_option("-p,--platform", o->platform, "machine it was recorded on")->required();
  command
      ->add_option("--local-step", o->local_step,
                   "time of a step without recording and without any exchange between ranks, e.g. 4.75ms")
      ->required();
  command->add_option("--out", o->out, "trace to write (default: standard output)");
  command->footer(
      "Example:\n  linkcast calibrate trace recorded.jsonl --platform hgx-h200 --local-step 4.75ms --out fitted.jsonl");
  command->callback([o, &context] { run_trace_fit(context, *o); });
}

}  // namespace

void add_calibrate(CLI::App& app, Context& context) {
  auto* calibrate = app.add_subcommand("calibrate", "turn measurements into parameters");
  calibrate->require_subcommand(1);
  calibrate->footer(
      "Example:\n  linkcast calibrate fit calibrate/data/p100-dgx1/*.json --topology p100-dgx1 --out p100.json");
  auto* fit = calibrate->add_subcommand("fit", "fit latency, bandwidth and duplex parameters with standard errors");
  auto o = std::make_shared<FitOptions>();
  reads_stdin(
      fit->add_option("measurement", o->fit.measurements,
                      "measurement files, schema measurement/1 and launch/1; other records are left out; '-': stdin"));
  fit->add_option("--topology", o->fit.topology, "id, a topology file, or a calibration file with its topology")
      ->required();
  auto* out = fit->add_option("--out", o->out, "calibration file to write");
  fit->add_option("--name", o->fit.name, "id of the platform (default: the topology's)");
  fit->add_option("--library", o->fit.library,
                  "communication library of that machine's time (default: that of its GPU's generation)");
  fit->add_option("--only", o->fit.only, "of the copies, those of these transports alone, as the points name them");
  fit->add_flag("--unmeasured", o->fit.unmeasured,
                "no measurement of this machine: all is inherited (--inherit), at the share of nominal rates");
  fit->add_option(
      "--inherit", o->fit.inherit,
      "calibrations to inherit from what these data cannot determine, best first, with wider errors; nearest: "
      "the shipped machines most like it, none: none (default: none for a shipped topology, else nearest)");
  fit->add_option("--inherit-library", o->fit.inherit_library,
                  "calibrations of machines with GPUs of this generation to inherit from what only collectives show of "
                  "a library, best first, with wider errors");
  fit->add_option("--bootstrap", o->fit.bootstrap, "refits on resampled data, for the standard errors; 0: none")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  auto* hold_out =
      fit->add_option("--hold-out", o->fit.hold_out,
                      "measured collectives to forecast instead of learning from them: nodes=N, gpus=N, op=NAME, "
                      "library=NAME or size=FROM-TO");
  hold_out->allow_extra_args(false);
  fit->add_option("--leave-out", o->fit.leave_out,
                  "leave out, in turn, each part of the measured collectives that these tell apart, and forecast it: "
                  "nodes, gpus, op, library, size; writes no calibration")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"nodes", "gpus", "op", "library", "size"}))
      ->excludes(out)
      ->excludes(hold_out);
  fit->add_flag("--json", context.json, "what was learned from, and what was left out, as JSON on stdout");
  fit->add_option("--fit-report", o->fit_report,
                  "report of the fit to write: errors on its own data, standard errors, pairs and repetitions")
      ->needs(out);
  fit->add_option("--report", o->report, "folder for residuals.json, which python/run.py plots.residuals draws");
  fit->footer(
      "Example:\n  linkcast calibrate fit calibrate/data/p100-dgx1/*.json --topology p100-dgx1 --out p100.json");
  fit->callback([o, &context] {
    if (o->out.empty() && o->fit.leave_out.empty()) throw InputError("--out: where the calibration goes");
    run_fit(context, *o);
  });
  add_trace_fit(*calibrate, context);
}

}  // namespace linkcast::cli
