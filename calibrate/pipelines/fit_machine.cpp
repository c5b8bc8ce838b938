#include "calibrate/pipelines/fit_machine.hpp"

#include <algorithm>
#include <filesystem>

#include "calibrate/fit/lend.hpp"
#include "calibrate/fit/residuals.hpp"
#include "calibrate/pipelines/held_out.hpp"
#include "calibrate/pipelines/sample_time.hpp"
#include "sim/base/file_hash.hpp"
#include "sim/base/log.hpp"
#include "sim/machine/usual_library.hpp"
#include "sim/records/gpu_model_names.hpp"
#include "sim/records/left_out.hpp"

namespace linkcast::pipelines {
namespace {
namespace fs = std::filesystem;

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
  log::Log("fit").note("{}: {}, no measurement: left out", path, schema);
}

/// Data sheet of a machine's GPUs.
fit::Lender known_of(const Topology& topology) {
  const Device& gpu = topology.devices[static_cast<std::size_t>(topology.gpus().front())];
  const auto model = find_gpu_model(gpu.model);
  return {topology, model ? model->l2_B : 0};
}

/// Machines whose calibrations are inherited. A topology that is not at hand stays empty, unless all rests on it.
void add_lenders(const catalogue::MachineFiles& files, bool unmeasured, fit::FitRequest& request) {
  for (const Calibration& calibration : request.inherited) {
    const auto path = files.topology_of(calibration);
    if (!path && unmeasured && calibration.wiring.is_null()) files.refuse_topology(calibration);
    const bool known = path || !calibration.wiring.is_null();
    request.lenders.push_back(known ? known_of(files.read_topology_of(calibration)) : fit::Lender{});
  }
  request.l2_B = known_of(*request.topology).l2_B;
}

/// Leaves out points of transports that are not named.
void keep_only(const std::vector<std::string>& transports, std::vector<Measurement>& measurements) {
  if (transports.empty()) return;
  const auto other = [&](const MeasuredPoint& p) {
    return std::find(transports.begin(), transports.end(), p.transport) == transports.end();
  };
  for (Measurement& m : measurements)
    m.points.erase(std::remove_if(m.points.begin(), m.points.end(), other), m.points.end());
}

/// Adds the scatter of forecasts beside their parameters: as learned the same way, where that is known.
void add_left_out(const fit::FitRequest& request, Calibration& calibration) {
  const std::string path = (fs::path(request.data_dir) / "calibrate" / "data" / "left-out.json").string();
  const bool bench = std::any_of(request.measurements.begin(), request.measurements.end(),
                                 [](const Measurement& m) { return m.bench == "nccl_base"; });
  if (!fs::exists(path)) {
    log::Log("fit").note("{}: not there: intervals of collectives get a wide assumption", path);
    return;
  }
  for (Scatter& row : scatter_left_out(read_left_out(path), bench)) calibration.scatter.push_back(std::move(row));
  calibration.from.push_back({request.relative(path), sha256_of_file(path)});
}

fit::FitRequest request_of(catalogue::Catalogue& catalogue, const MachineFit& machine, const Topology& topology) {
  const catalogue::MachineFiles files(catalogue.data_dir());
  fit::FitRequest request;
  request.name = machine.name.empty() ? topology.name : machine.name;
  request.default_library = machine.library.empty() ? usual_library(topology) : machine.library;
  static_cast<void>(libraries().get(request.default_library));  // throws on an unknown one, with the known ones
  request.data_dir = catalogue.data_dir();
  request.topology = &topology;
  for (const std::string& path : machine.measurements) read_record(path, request);
  for (const std::string& id : machine.inherit) request.inherited.push_back(read_calibration(files.calibration(id)));
  for (const std::string& id : machine.inherit_library)
    request.library_lenders.push_back(read_calibration(files.calibration(id)));
  if (std::any_of(request.measurements.begin(), request.measurements.end(),
                  [](const Measurement& m) { return !m.spreads.empty(); }))
    request.distances = fabric_distances(topology);
  request.bootstrap = machine.bootstrap;
  request.progress = &catalogue.progress();
  keep_only(machine.only, request.measurements);
  add_lenders(files, machine.unmeasured, request);
  return request;
}

}  // namespace

FittedMachine fit_machine(catalogue::Catalogue& catalogue, const MachineFit& machine) {
  const catalogue::MachineFiles files(catalogue.data_dir());
  const Topology topology = files.read_wiring(machine.topology);
  const fit::FitRequest request = request_of(catalogue, machine, topology);
  FittedMachine out;
  out.fit = machine.unmeasured ? fit::lend_parameters(request) : fit::fit_parameters(request);
  add_left_out(request, out.fit.calibration);
  learn_or_hold_out(catalogue, machine, topology, request.measurements, out);
  if (!files.is_shipped(topology)) out.fit.calibration.wiring = read_json_file(topology.path);
  const Platform platform(topology, out.fit.calibration);
  SampleTime sample_time(platform, catalogue.solver("fluid"));
  const auto simulate = [&sample_time](const fit::Sample& sample) { return sample_time(sample); };
  fit::assess(out.fit, simulate);
  if (machine.residuals) out.residuals = fit::residual_report(out.fit, platform.topology(), simulate);
  return out;
}

}  // namespace linkcast::pipelines
