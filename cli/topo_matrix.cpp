#include "cli/topo_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/base/input_error.hpp"
#include "sim/machine/library.hpp"

namespace linkcast::cli {
namespace {

constexpr char kLegend[] =
    "\nLegend:\n\n"
    "  X    = Self\n"
    "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n"
    "  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)\n"
    "  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)\n"
    "  PIX  = Connection traversing at most a single PCIe bridge\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\n";

class Matrix {
 public:
  explicit Matrix(const Topology& topology) : topology_(topology), columns_(topology.gpus()) {
    for (std::size_t d = 0; d < topology.devices.size(); ++d)
      if (topology.devices[d].kind == DeviceKind::kNic) columns_.push_back(static_cast<int>(d));
    for (const int device : columns_) up_.push_back(path_up(device));
  }

  [[nodiscard]] std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < columns_.size(); ++i) out += "\t" + name(i);
    out += "\tNUMA Affinity\n";
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      out += name(i);
      for (std::size_t j = 0; j < columns_.size(); ++j) out += "\t" + between(i, j);
      out += "\t" + (i < topology_.gpus().size() ? std::to_string(numa_node(up_[i].back())) : "") + "\n";
    }
    return out + kLegend;
  }

 private:
  [[nodiscard]] DeviceKind kind(int device) const { return topology_.devices[static_cast<std::size_t>(device)].kind; }
  /// The device at the other end of a cable; -1: it is not of this cable.
  static int other_end(const Cable& cable, int device) {
    return cable.a == device ? cable.b : cable.b == device ? cable.a : -1;
  }
  /// The PCIe switches above a device, and the CPU above them.
  [[nodiscard]] std::vector<int> path_up(int device) const {
    std::vector<std::vector<int>> paths{{device}};
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (kind(paths[i].back()) == DeviceKind::kCpu) return {paths[i].begin() + 1, paths[i].end()};
      for (const Cable& cable : topology_.cables) {
        const int next = other_end(cable, paths[i].back());
        const bool above = next >= 0 && (kind(next) == DeviceKind::kCpu || kind(next) == DeviceKind::kPcieSwitch);
        if (!above || std::find(paths[i].begin(), paths[i].end(), next) != paths[i].end()) continue;
        paths.push_back(paths[i]);
        paths.back().push_back(next);
      }
    }
    throw InputError(topology_.name + ": " + topology_.devices[static_cast<std::size_t>(device)].id +
                     " has no path up to a CPU");
  }
  [[nodiscard]] int numa_node(int cpu) const {
    return static_cast<int>(std::count_if(topology_.devices.begin(), topology_.devices.begin() + cpu,
                                          [](const Device& one) { return one.kind == DeviceKind::kCpu; }));
  }
  [[nodiscard]] int to_nvswitches(int gpu) const {
    int links = 0;
    for (const Cable& cable : topology_.cables)
      if (const int end = other_end(cable, gpu); end >= 0 && kind(end) == DeviceKind::kNvswitch) links += cable.count;
    return links;
  }
  [[nodiscard]] std::string name(std::size_t i) const {
    const std::size_t gpus = topology_.gpus().size();
    return i < gpus ? fmt::format("GPU{}", i) : fmt::format("NIC{}", i - gpus);
  }
  [[nodiscard]] std::string between(std::size_t i, std::size_t j) const {
    if (i == j) return " X ";
    const int a = columns_[i], b = columns_[j];
    if (std::max(i, j) < topology_.gpus().size()) {
      const int direct = topology_.direct_links(a, b);
      const int links = direct > 0 ? direct : std::min(to_nvswitches(a), to_nvswitches(b));
      if (links > 0) return fmt::format("NV{}", links);
    }
    const std::vector<int>&one = up_[i], &two = up_[j];
    const auto shared = std::find_if(
        one.begin(), one.end(), [&](int device) { return std::find(two.begin(), two.end(), device) != two.end(); });
    if (shared == one.end()) return "SYS";
    if (kind(*shared) == DeviceKind::kCpu) return "PHB";
    const auto switches = (shared - one.begin()) + (std::find(two.begin(), two.end(), *shared) - two.begin()) + 1;
    return switches == 1 ? "PIX" : "PXB";
  }

  const Topology& topology_;
  std::vector<int> columns_;
  std::vector<std::vector<int>> up_;
};

}  // namespace

std::string nvidia_smi_topo(const Topology& topology) {
  if (usual_library(topology).starts_with("rccl"))
    throw InputError(topology.name + ": has no GPUs of NVIDIA for nvidia-smi");
  return Matrix(topology).text();
}

}  // namespace linkcast::cli
