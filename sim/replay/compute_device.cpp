#include "sim/replay/compute_device.hpp"

#include "sim/records/gpu_model_names.hpp"

namespace linkcast::replay {

std::string other_gpu(const Topology& machine, const std::string& recorded) {
  if (recorded.empty()) return "";
  for (const Device& device : machine.devices) {
    if (device.kind != DeviceKind::kGpu || device.model.empty() || device.model == recorded) continue;
    const auto here = find_gpu_model(device.model), there = find_gpu_model(recorded);
    if (here && there &&
        (here->words == there->words || names_model(recorded, *here) || names_model(device.model, *there)))
      continue;  // "H100" and "H100 PCIE" are one chip
    return device.model;
  }
  return "";
}

}  // namespace linkcast::replay
