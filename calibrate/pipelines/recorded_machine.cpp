#include "calibrate/pipelines/recorded_machine.hpp"

#include <algorithm>

#include "sim/base/index.hpp"
#include "sim/forecast/host_costs.hpp"
#include "sim/machine/machine_files.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast::pipelines {
namespace {

using IsGpu = bool (*)(const std::string& one, const std::string& other);

bool same_name(const std::string& one, const std::string& other) { return one == other; }

bool same_model(const std::string& one, const std::string& other) {
  return same_name(one, other) || same_gpu_model(one, other);
}

/// Whether it has so many GPUs, all of a name.
bool has_gpus(const Topology& topology, const std::string& gpu, int gpus, IsGpu is_gpu) {
  const std::vector<int>& all = topology.gpus();
  return static_cast<int>(all.size()) >= gpus && std::all_of(all.begin(), all.end(), [&](int device) {
           return is_gpu(topology.devices[at(device)].model, gpu);
         });
}

bool measured_all(const Calibration& calibration, const std::vector<TraceOption>& known) {
  return std::all_of(known.begin(), known.end(), [&](const TraceOption& option) {
    if (option.parameter.empty()) return true;
    const Parameter* parameter = calibration.find(option.parameter);
    return parameter != nullptr && !parameter->inherited();
  });
}

bool measured_all(catalogue::Catalogue& catalogue, const std::string& machine, const std::vector<TraceOption>& known) {
  return measured_all(catalogue.machine(machine)->platform().calibration(), known);
}

/// @returns  empty where no machine has them
std::string machine_of_costs(catalogue::Catalogue& catalogue, const std::vector<TraceOption>& known,
                             const std::string& machine, const std::string& gpu) {
  if (!machine.empty() && measured_all(catalogue, machine, known)) return machine;
  if (!gpu.empty())
    for (const std::string& id : machines_with(catalogue.data_dir(), gpu, 1))
      if (measured_all(catalogue, id, known)) return id;
  const std::string& measured = launch::measured_host();
  return catalogue.has_platform(measured) && measured_all(catalogue, measured, known) ? measured : "";
}

}  // namespace

std::vector<std::string> machines_with(const std::string& data_dir, const std::string& gpu, int gpus) {
  const catalogue::MachineFiles files(data_dir);
  std::vector<std::string> exactly, alike;
  for (const std::string& id : files.platforms()) {
    const auto file = files.shipped(id);
    if (!file || file->is_what_if()) continue;
    const Topology topology = files.read_wiring(id);
    if (has_gpus(topology, gpu, gpus, same_name)) exactly.push_back(id);
    if (has_gpus(topology, gpu, gpus, same_model)) alike.push_back(id);
  }
  std::vector<std::string>& found = exactly.empty() ? alike : exactly;
  files.drop_variants(found);
  return found;
}

FittedCosts fitted_costs(catalogue::Catalogue& catalogue, const std::vector<TraceOption>& known,
                         const std::string& machine, const std::string& gpu) {
  FittedCosts costs;
  if (std::all_of(known.begin(), known.end(), [](const TraceOption& option) { return option.parameter.empty(); }))
    return costs;
  costs.machine = machine_of_costs(catalogue, known, machine, gpu);
  if (costs.machine.empty()) return costs;
  const Platform& platform = catalogue.machine(costs.machine)->platform();
  for (const TraceOption& option : known)
    if (!option.parameter.empty())
      costs.values.emplace(option.key, Json(platform.calibration().find(option.parameter)->value).dump() + "s");
  if (costs.machine != machine && !gpu.empty() && !has_gpus(platform.topology(), gpu, 1, same_model))
    costs.note = "costs of recording: of " + costs.machine + ", since no machine with " + gpu + " has them measured";
  return costs;
}

}  // namespace linkcast::pipelines
