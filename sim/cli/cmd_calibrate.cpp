#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>

#include "calibrate/fit/fit.hpp"
#include "sim/cli/command.hpp"
#include "sim/forecast/transfer.hpp"
#include "sim/records/atomic_file.hpp"
#include "sim/units/parse.hpp"

namespace linkcast::cli {
namespace {
namespace fs = std::filesystem;

struct FitOptions {
  std::vector<std::string> measurements;
  std::string topology, out, name, library = "nccl-2.3";
  std::vector<std::string> inherit;
  int bootstrap = 50;  // a standard error is then known to a tenth: 1 / sqrt(2 (50 - 1))
};

/// Says on stderr how far the refits are, once they have taken longer than one waits without asking.
std::function<void(int, int)> progress_line() {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  auto last = std::make_shared<Clock::time_point>(start);
  return [=](int done, int of) {
    const auto now = Clock::now();
    if (now - *last < std::chrono::seconds(2)) return;
    *last = now;
    std::cerr << "bootstrap: " << done << " of " << of << " refits\n";
  };
}

std::string topology_path(Context& context, const std::string& id) {
  if (id.size() > 5 && id.substr(id.size() - 5) == ".json") return id;
  return (fs::path(context.catalogue().data_dir()) / "topologies" / (id + ".json")).string();
}

void print_report(const FitResult& result) {
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
  for (const FitQuality& q : result.quality) {
    char median[32], p95[32];
    std::snprintf(median, sizeof median, "%.2f %%", 100 * q.median_error);
    std::snprintf(p95, sizeof p95, "%.2f %%", 100 * q.p95_error);
    table.push_back({q.transport, std::to_string(q.samples), median, p95});
  }
  print_table(table);
  for (const PairClasses& classes : result.classes)
    for (const auto* lines : {&classes.unlike, &classes.alike})
      for (const std::string& line : *lines) std::cout << "pairs: " << line << '\n';
  for (const std::string& line : lines_of(result.suspicious)) std::cout << "repetitions: " << line << '\n';
  for (const std::string& missing : result.undetermined)
    std::cout << "not determined by these data: " << missing << '\n';
}

/// The copy that a sample timed.
Transfer transfer_of(const Sample& s) {
  const auto starts = [&](const char* text) { return s.transport.rfind(text, 0) == 0; };
  Transfer transfer{s.source, s.target, s.size_B, s.transport, s.via};
  if (starts("peer")) transfer.transport = "peer";
  if (starts("local")) transfer.transport = "local";
  if (starts("h2d") || starts("d2h")) transfer.transport = "host";
  if (starts("peer") || starts("relay")) transfer.read = s.read;
  if (s.transport.find("_sm") != std::string::npos) transfer.by = MoveBy::kSm;
  transfer.pageable = s.transport.find("pageable") != std::string::npos;
  transfer.single = s.single;
  return transfer;
}

void run_fit(Context& context, const FitOptions& o) {
  const Topology topology = read_topology(topology_path(context, o.topology));
  FitRequest request;
  request.name = o.name.empty() ? topology.name : o.name;
  request.default_library = o.library;
  request.data_dir = context.catalogue().data_dir();
  request.topology = &topology;
  for (const std::string& path : o.measurements) request.measurements.push_back(read_measurement(path));
  for (const std::string& path : o.inherit) request.inherited.push_back(read_calibration(path));
  request.bootstrap = o.bootstrap;
  request.progress = progress_line();
  FitResult result = fit_parameters(request);
  const Platform platform(topology, result.calibration);
  Solver& solver = context.catalogue().solver("fluid");
  std::map<std::tuple<std::string, bool, int, int, int, double>, double> known;  // repetitions share one simulation
  assess(result, [&](const Sample& s) {
    double& time =
        known[{s.transport + (s.read ? "<" : "") + (s.both ? "=" : ""), s.single, s.source, s.target, s.via, s.size_B}];
    if (time > 0) return time;
    ProblemBuilder builder(platform);
    builder.add(transfer_of(s));
    if (s.both) {
      Transfer back = transfer_of(s);
      std::swap(back.source, back.target);
      builder.add(back);
    }
    const Solution solution = solver.run(builder.problem());
    return time = solution.makespan_s;
  });
  write_atomically(o.out, to_json(result).dump(1) + "\n");
  print_report(result);
}

}  // namespace

void add_calibrate(CLI::App& app, Context& context) {
  auto* calibrate = app.add_subcommand("calibrate", "turn measurements into parameters");
  calibrate->require_subcommand(1);
  calibrate->footer(
      "Example:\n  linkcast calibrate fit calibrate/data/p100-dgx1/*.json --topology p100-dgx1 --out p100.json");
  auto* fit = calibrate->add_subcommand("fit", "fit latency, bandwidth and duplex parameters with standard errors");
  auto o = std::make_shared<FitOptions>();
  fit->add_option("measurement", o->measurements, "measurement files, schema measurement/1")->required();
  fit->add_option("--topology", o->topology, "id, or a topology file")->required();
  fit->add_option("--out", o->out, "calibration file to write")->required();
  fit->add_option("--name", o->name, "id of the platform (default: the topology's)");
  fit->add_option("--library", o->library, "communication library of that machine's time");
  fit->add_option("--inherit", o->inherit,
                  "calibrations that lend what these data cannot determine, best first, with wider errors");
  fit->add_option("--bootstrap", o->bootstrap, "refits on resampled data, for the standard errors; 0: none")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  fit->footer(
      "Example:\n  linkcast calibrate fit calibrate/data/p100-dgx1/*.json --topology p100-dgx1 --out p100.json");
  fit->callback([o, &context] { run_fit(context, *o); });
}

}  // namespace linkcast::cli
