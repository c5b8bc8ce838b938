#include "sim/machine/structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "sim/records/cable_kinds.hpp"
#include "sim/records/gpu_model_names.hpp"

namespace linkcast::lending {
namespace {

bool is_amd_model(std::string_view words) { return words.starts_with("MI"); }

const Device& end_of(const Topology& topology, const Cable& cable, int other_than) {
  return topology.devices[static_cast<std::size_t>(cable.a == other_than ? cable.b : cable.a)];
}

}  // namespace

const Device& first_gpu(const Topology& topology) {
  return topology.devices[static_cast<std::size_t>(topology.gpus().front())];
}

std::string maker_of(const Topology& topology) {
  const std::string& name = first_gpu(topology).model;
  if (const auto model = find_gpu_model(name)) return is_amd_model(model->words) ? "amd" : "nvidia";
  if (name.find("AMD") != std::string::npos) return "amd";
  for (const Cable& cable : topology.cables)
    if (const CableKind* kind = find_cable_kind(cable.kind);
        kind && kind->family == CableFamily::kAccelerator && kind->maker == "amd")
      return "amd";
  return "nvidia";
}

Structure structure_of(const Topology& topology) {
  Structure found;
  const Device& gpu = first_gpu(topology);
  const int index = topology.gpus().front();
  const auto model = find_gpu_model(gpu.model);
  found.maker = maker_of(topology);
  found.gpu = model ? std::string(model->words) : gpu.model;
  found.sm = gpu.sm;
  for (const Cable& cable : topology.cables) {
    if (cable.a != index && cable.b != index) continue;
    const Device& other = end_of(topology, cable, index);
    if (is_pcie_cable(cable.kind)) found.pcie_generation = cable_generation(cable.kind);
    if (!is_accelerator_cable(cable.kind)) continue;
    if (other.kind == DeviceKind::kCpu) {
      found.host = cable.kind;
      continue;
    }
    found.join = other.kind == DeviceKind::kGpu ? Join::kMesh : Join::kSwitch;
    found.join_generation = cable_generation(cable.kind);
    found.join_name = found.join_generation > 0                   ? fmt::format("NVLink {}", found.join_generation)
                      : trait_of(cable.kind) == CableTrait::kChip ? "NVLink-C2C"
                                                                  : "Infinity Fabric";
  }
  return found;
}

int generations_between(const Structure& a, const Structure& b) {
  std::set<int> releases = {a.sm, b.sm};
  for (const GpuModel& model : kGpuModels)
    if ((is_amd_model(model.words) ? "amd" : "nvidia") == a.maker) releases.insert(model.sm);
  const auto place = [&](int sm) { return static_cast<int>(std::distance(releases.begin(), releases.find(sm))); };
  return std::abs(place(a.sm) - place(b.sm));
}

}  // namespace linkcast::lending
