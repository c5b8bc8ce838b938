#include "sim/machine/structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "sim/base/input_error.hpp"
#include "sim/base/regex.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast::lending {
namespace {

const Device& end_of(const Topology& topology, const Cable& cable, int other_than) {
  return topology.devices[static_cast<std::size_t>(cable.a == other_than ? cable.b : cable.a)];
}

}  // namespace

const Device& first_gpu(const Topology& topology) {
  return topology.devices[static_cast<std::size_t>(topology.gpus().front())];
}

std::string maker_of(const Topology& topology) {
  const std::string& name = first_gpu(topology).model;
  if (const auto model = find_gpu_model(name)) return is_amd_model(*model) ? "amd" : "nvidia";
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
    if ((is_amd_model(model) ? "amd" : "nvidia") == a.maker) releases.insert(model.sm);
  const auto place = [&](int sm) { return static_cast<int>(std::distance(releases.begin(), releases.find(sm))); };
  return std::abs(place(a.sm) - place(b.sm));
}

}  // namespace linkcast::lending

namespace linkcast {
namespace {

/// Model number of family 6. @source  Intel's list of processor signatures; E5 and E7 by their suffix
int intel_model(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  static const Regex scalable("(Platinum|Gold|Silver|Bronze) [0-9]([0-9])[0-9]{2}");
  if (has("Emerald")) return 207;
  if (has("Sapphire")) return 143;
  if (has("Westmere")) return 44;
  if (has("E5-") || has("E7-")) return has("v4") ? 79 : has("v3") ? 63 : has("v2") ? 62 : 45;
  const Match found = scalable.find(name);
  if (!found) return 85;
  const int generation = std::stoi(found[2]);
  return generation <= 2 ? 85 : generation == 3 ? 106 : generation == 4 ? 143 : 207;
}

}  // namespace

CpuIdentity cpu_identity(const Device& cpu) {
  struct Maker {
    const char *architecture, *vendor, *family;  ///< vendor and family: of x86 alone
    int (*model)(const std::string& name);
  };
  static const std::map<std::string, Maker> kMakers = {
      {"ibm", {"ppc64", nullptr, nullptr, nullptr}},
      {"arm", {"arm64", nullptr, nullptr, nullptr}},
      {"intel", {"x86_64", "GenuineIntel", "6", intel_model}},
      {"amd", {"x86_64", "AuthenticAMD", "175", [](const std::string&) { return 1; }}}};
  const auto found_maker = kMakers.find(cpu.vendor);
  if (found_maker == kMakers.end())
    throw InputError(cpu.id + ": NCCL's topology needs the CPU's vendor, which the topology does not say");
  const Maker& maker = found_maker->second;
  if (maker.vendor == nullptr) return {{"arch", maker.architecture}};
  std::string family = maker.family, model = std::to_string(maker.model(cpu.model));
  if (const Match found = Regex("family ([0-9]+) model ([0-9]+)").find(cpu.model)) {
    family = found[1];
    model = found[2];
  }
  return {{"arch", maker.architecture}, {"vendor", maker.vendor}, {"familyid", family}, {"modelid", model}};
}

}  // namespace linkcast
