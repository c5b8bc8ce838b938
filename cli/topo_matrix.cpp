#include "cli/topo_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/base/index.hpp"
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
  explicit Matrix(const Platform& platform)
      : platform_(platform), topology_(platform.topology()), columns_(topology_.gpus()) {
    for (std::size_t d = 0; d < topology_.devices.size(); ++d)
      if (topology_.devices[d].kind == DeviceKind::kNic) columns_.push_back(static_cast<int>(d));
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
  [[nodiscard]] DeviceKind kind(int device) const { return topology_.devices[at(device)].kind; }
  /// The device at the other end of a cable; -1: it is not of this cable.
  static int other_end(const Cable& cable, int device) {
    return cable.a == device ? cable.b : cable.b == device ? cable.a : -1;
  }
  /// The PCIe switches above a device, and the CPU above them.
  [[nodiscard]] std::vector<int> path_up(int device) const {
    std::vector<int> path;
    for (const int link : platform_.to_host(device).links) path.push_back(platform_.links()[at(link)].to);
    return path;
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

  const Platform& platform_;
  const Topology& topology_;
  std::vector<int> columns_;
  std::vector<std::vector<int>> up_;
};

}  // namespace

std::string nvidia_smi_topo(const Platform& platform) {
  if (usual_library(platform.topology()).starts_with("rccl"))
    throw InputError(platform.topology().name + ": has no GPUs of NVIDIA for nvidia-smi");
  return Matrix(platform).text();
}

}  // namespace linkcast::cli
