#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <map>

#include "calibrate/fit/lend.hpp"
#include "calibrate/fit/residuals.hpp"
#include "cli/command.hpp"
#include "cli/lessons.hpp"
#include "cli/progress.hpp"
#include "cli/stdin_file.hpp"
#include "cli/trace_out.hpp"
#include "sim/activities/transfer.hpp"
#include "sim/catalogue/machine_files.hpp"
#include "sim/log/log.hpp"
#include "sim/platform/fabric_routing.hpp"
#include "sim/platform/noise.hpp"
#include "sim/plugin/fabric_generator.hpp"
#include "sim/plugin/usual_library.hpp"
#include "sim/records/file_hash.hpp"
#include "sim/records/gpu_model_names.hpp"
#include "sim/records/left_out.hpp"
#include "sim/replay/host_scale.hpp"
#include "sim/replay/open_trace.hpp"
#include "sim/units/parse.hpp"

namespace linkcast::cli {
namespace {
namespace fs = std::filesystem;

struct FitOptions {
  std::vector<std::string> measurements;
  std::string topology, out, name, library;
  bool unmeasured = false;
  std::vector<std::string> only, inherit, inherit_library;
  std::string report;
  LessonOptions lessons;
  int bootstrap = 50;  // a standard error is then known to a tenth: 1 / sqrt(2 (50 - 1))
};

void print_report(const fit::FitResult& result) {
  std::vector<std::vector<std::string>> table = {{"parameter", "value", "standard error", "provenance"}};
  for (const auto& [name, p] : result.calibration.parameters) {
    char value[32], error[32];
    std::snprintf(value, sizeof value, "%.6g", p.value);
    std::snprintf(error, sizeof error, "%.2g", p.stderr_);
    table.push_back({name, value, error, p.unit + "  " + p.provenance});
  }
  print_table(table);
  std::cout << "\non the fitted data itself (not held out):\n";
  table = {{"transport", "samples", "median error", "95 %"}};
  for (const fit::FitQuality& q : result.quality) {
    char median[32], p95[32];
    std::snprintf(median, sizeof median, "%.2f %%", 100 * q.median_error);
    std::snprintf(p95, sizeof p95, "%.2f %%", 100 * q.p95_error);
    table.push_back({q.transport, std::to_string(q.samples), median, p95});
  }
  print_table(table);
  for (const std::string& missing : result.undetermined)
    std::cout << "not determined by these data: " << missing << '\n';
  for (const fit::PairClasses& classes : result.classes)
    for (const auto* lines : {&classes.unlike, &classes.alike})
      for (const std::string& line : *lines) std::cout << "pairs: " << line << '\n';
  for (const std::string& line : fit::lines_of(result.suspicious)) std::cout << "repetitions: " << line << '\n';
}

/// The copy that a sample timed.
activities::Transfer transfer_of(const fit::Sample& s) {
  const auto starts = [&](const char* text) { return s.transport.rfind(text, 0) == 0; };
  activities::Transfer transfer{s.source, s.target, s.size_B, s.transport, s.via};
  if (starts("peer")) transfer.transport = "peer";
  if (starts("local")) transfer.transport = "local";
  if (starts("h2d") || starts("d2h")) transfer.transport = "host";
  if (starts("peer") || starts("relay")) transfer.read = s.read;
  if (s.transport.find("_sm") != std::string::npos) transfer.by = activities::MoveBy::kSm;
  transfer.pageable = s.transport.find("pageable") != std::string::npos;
  transfer.single = s.single;
  return transfer;
}

/// Time of a sample by the fitted platform; repetitions share one simulation.
std::function<double(const fit::Sample&)> simulation(const Platform& platform, Solver& solver) {
  using Key = std::tuple<std::string, bool, int, int, int, double>;
  auto known = std::make_shared<std::map<Key, double>>();
  return [&platform, &solver, known](const fit::Sample& s) {
    double& time = (*known)[{s.transport + (s.read ? "<" : "") + (s.both ? "=" : ""), s.single, s.source, s.target,
                             s.via, s.size_B}];
    if (time > 0) return time;
    activities::ProblemBuilder builder(platform);
    builder.add(transfer_of(s));
    if (s.both) {
      activities::Transfer back = transfer_of(s);
      std::swap(back.source, back.target);
      builder.add(back);
    }
    return time = solver.run(builder.problem()).makespan_s;
  };
}

/// A folder of measurements holds other records too: they are read, so that nothing malformed passes, and left out.
void read_record(const std::string& path, fit::FitRequest& request) {
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  const std::string schema =
      r.choice("schema", {"measurement/1", "launch/1", "topology/1", "discovery/1", "calibration/1", "residuals/1"});
  if (schema == "measurement/1") {
    request.measurements.push_back(read_measurement(path));
    return;
  }
  if (schema == "launch/1") {
    request.launches.push_back(read_launch_record(path));
    return;
  }
  if (schema == "topology/1") read_topology(path);
  if (schema == "calibration/1") read_calibration(path);
  log::Log("cli").note("{}: {}, no measurement: left out", path, schema);
}

/// From the first endpoint: mean latency of each distance, links of its first pair.
std::map<std::string, fit::FabricDistance> fabric_distances(const Topology& topology) {
  const auto fabric = make_fabric(topology);
  std::map<std::string, fit::FabricDistance> found;
  std::map<std::string, int> count;
  double nearest_s = std::numeric_limits<double>::infinity();
  for (int to = 1; to < fabric->endpoints(); ++to) {
    const std::string& name = fabric->distances()[static_cast<std::size_t>(fabric->distance(0, to))];
    const double latency_s = fabric_latency(*fabric, 0, to).si;
    nearest_s = std::min(nearest_s, latency_s);
    if (count[name]++ == 0) found[name].links = noisy_way(*fabric, 0, to).links;
    found[name].farther_s += latency_s;
  }
  for (auto& [name, distance] : found) distance.farther_s = distance.farther_s / count[name] - nearest_s;
  return found;
}

/// What data sheets say of a machine.
fit::Lender known_of(const Topology& topology) {
  const Device& gpu = topology.devices[static_cast<std::size_t>(topology.gpus().front())];
  const auto model = find_gpu_model(gpu.model);
  return {topology, model ? model->l2_B : 0};
}

/// Of the machines that lend; of one whose topology is not at hand nothing, unless all rests on it.
void know_machines(Context& context, const FitOptions& o, fit::FitRequest& request) {
  const catalogue::MachineFiles files(context.catalogue().data_dir());
  for (const Calibration& calibration : request.inherited) {
    const auto path = files.topology_of(calibration);
    if (!path && o.unmeasured && calibration.wiring.is_null()) files.refuse_topology(calibration);
    const bool known = path || !calibration.wiring.is_null();
    request.lenders.push_back(known ? known_of(files.read_topology_of(calibration)) : fit::Lender{});
  }
  request.l2_B = known_of(*request.topology).l2_B;
}

/// Leaves out points of transports that are not asked for.
void keep_only(const std::vector<std::string>& transports, std::vector<Measurement>& measurements) {
  if (transports.empty()) return;
  for (Measurement& m : measurements)
    m.points.erase(std::remove_if(m.points.begin(), m.points.end(),
                                  [&](const MeasuredPoint& p) {
                                    return std::find(transports.begin(), transports.end(), p.transport) ==
                                           transports.end();
                                  }),
                   m.points.end());
}

/// What forecasts are off by beside their parameters: as learned the same way, where that is known.
void add_left_out(const fit::FitRequest& request, Calibration& calibration) {
  const std::string path = (fs::path(request.data_dir) / "calibrate" / "data" / "left-out.json").string();
  const bool bench = std::any_of(request.measurements.begin(), request.measurements.end(),
                                 [](const Measurement& m) { return m.bench == "nccl_base"; });
  if (!fs::exists(path)) {
    log::Log("cli").note("{}: not there: intervals of collectives get a wide assumption", path);
    return;
  }
  for (Scatter& row : scatter_left_out(read_left_out(path), bench)) calibration.scatter.push_back(std::move(row));
  calibration.from.push_back({request.relative(path), sha256_of_file(path)});
}

void run_fit(Context& context, const FitOptions& o) {
  const catalogue::MachineFiles files(context.catalogue().data_dir());
  const Topology topology = files.read_wiring(o.topology);
  const std::string library = o.library.empty() ? usual_library(topology) : o.library;
  static_cast<void>(libraries().get(library));  // throws on an unknown one, with the known ones
  fit::FitRequest request;
  request.name = o.name.empty() ? topology.name : o.name;
  request.default_library = library;
  request.data_dir = context.catalogue().data_dir();
  request.topology = &topology;
  for (const std::string& path : o.measurements) read_record(path, request);
  for (const std::string& id : o.inherit) request.inherited.push_back(read_calibration(files.calibration(id)));
  for (const std::string& id : o.inherit_library)
    request.library_lenders.push_back(read_calibration(files.calibration(id)));
  if (std::any_of(request.measurements.begin(), request.measurements.end(),
                  [](const Measurement& m) { return !m.spreads.empty(); }))
    request.distances = fabric_distances(topology);
  request.bootstrap = o.bootstrap;
  request.progress = &context.progress();
  keep_only(o.only, request.measurements);
  know_machines(context, o, request);
  fit::FitResult result = o.unmeasured ? fit::lend_parameters(request) : fit::fit_parameters(request);
  add_left_out(request, result.calibration);
  const Json lessons = learn_and_print(context, o.lessons, topology, request.measurements, result);
  if (!files.is_shipped(topology)) result.calibration.wiring = read_json_file(topology.path);
  const Platform platform(topology, result.calibration);
  const auto simulate = simulation(platform, context.catalogue().solver("fluid"));
  fit::assess(result, simulate);
  if (!o.report.empty()) {
    fs::create_directories(o.report);
    const std::string path = (fs::path(o.report) / "residuals.json").string();
    write_file("--report", path, fit::residual_report(result, platform.topology(), simulate).dump(1) + "\n");
  }
  if (!o.out.empty()) write_file("--out", o.out, naming_stdin(fit::to_json(result).dump(1)) + "\n");
  if (context.json)
    std::cout << lessons.dump(1) << '\n';
  else if (o.lessons.leave_out.empty())
    print_report(result);
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
  const std::unique_ptr<TraceReader> reader = replay::open_trace(context.catalogue().data_dir(), o.trace, {});
  refuse_same_file("--out", o.out, reader->name());
  TraceOut out(o.out, context.progress());  // before the fit, which takes its time
  const double scale = replay::fit_host_scale(context.catalogue(), o.platform, o.trace, step_s);
  TraceHeader header = reader->header();
  header.host_scale = scale;
  header.notes.push_back("host_scale: fitted so that a step without exchange takes the " + to_text(Seconds{step_s}) +
                         " that were measured without recording");
  out.header(header);
  while (const auto event = reader->next()) out.event(*event);
  out.close();
  log::Log("cli").note("{}", (std::ostringstream() << "host_scale " << scale).str());
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
      fit->add_option("measurement", o->measurements,
                      "measurement files, schema measurement/1 and launch/1; other records are left out; '-': stdin"));
  fit->add_option("--topology", o->topology, "id, a topology file, or a calibration file with its topology")
      ->required();
  auto* out = fit->add_option("--out", o->out, "calibration file to write");
  fit->add_option("--name", o->name, "id of the platform (default: the topology's)");
  fit->add_option("--library", o->library,
                  "communication library of that machine's time (default: that of its GPU's generation)");
  fit->add_option("--only", o->only, "of the copies, those of these transports alone, as the points name them");
  fit->add_flag("--unmeasured", o->unmeasured,
                "no measurement of this machine: --inherit lends everything, at the share of nominal rates");
  fit->add_option("--inherit", o->inherit,
                  "calibrations that lend what these data cannot determine, best first, with wider errors");
  fit->add_option("--inherit-library", o->inherit_library,
                  "calibrations of machines with GPUs of this generation that lend what only collectives show of a "
                  "library, best first, with wider errors");
  fit->add_option("--bootstrap", o->bootstrap, "refits on resampled data, for the standard errors; 0: none")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  auto* hold_out =
      fit->add_option("--hold-out", o->lessons.hold_out,
                      "measured collectives to forecast instead of learning from them: nodes=N, gpus=N, op=NAME, "
                      "library=NAME or size=FROM-TO");
  hold_out->allow_extra_args(false);
  fit->add_option("--leave-out", o->lessons.leave_out,
                  "leave out, in turn, each part of the measured collectives that these tell apart, and forecast it: "
                  "nodes, gpus, op, library, size; writes no calibration")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"nodes", "gpus", "op", "library", "size"}))
      ->excludes(out)
      ->excludes(hold_out);
  fit->add_flag("--json", context.json, "what was learned from, and what was left out, as JSON on stdout");
  fit->add_option("--report", o->report, "folder for residuals.json, which calibrate/plots/residuals.py draws");
  fit->footer(
      "Example:\n  linkcast calibrate fit calibrate/data/p100-dgx1/*.json --topology p100-dgx1 --out p100.json");
  fit->callback([o, &context] {
    if (o->out.empty() && o->lessons.leave_out.empty()) throw InputError("--out: where the calibration goes");
    run_fit(context, *o);
  });
  add_trace_fit(*calibrate, context);
}

}  // namespace linkcast::cli
