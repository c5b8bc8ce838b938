#include "sim/plan/host_memory.hpp"

#include <algorithm>

#include "sim/base/index.hpp"

namespace linkcast::activities {
namespace {

// Of the CPU's cache, what devices write into and read from. source: assumed, 2 of 15 ways of about 100 MiB; 4 H200 get
// 4 to 9 % more of 16 MiB each than of 32 MiB and more, the sizes that host_memory.* are fitted on
constexpr double kCache_B = 13.6e6;

int sharers(const Platform& platform, int cpu) {
  int count = 0;
  for (int gpu = 0; gpu < platform.gpu_count(); ++gpu) count += platform.socket_of(platform.gpu(gpu)) == cpu ? 1 : 0;
  return count;
}

}  // namespace

bool to_far_memory(const Platform& platform, const std::vector<int>& links) {
  bool pcie = false, unmeasured = false;
  for (const int link : links) {
    const Constraint& limit = platform.constraints()[at(link)];
    const std::string& kind = platform.topology().cables[at(limit.cable)].kind;
    pcie = pcie || is_pcie_cable(kind);
    unmeasured = unmeasured || (is_socket_cable(kind) && !limit.capacity.calibrated);
  }
  return pcie && unmeasured;
}

std::vector<Use> host_memory_uses(const Platform& platform, const std::vector<int>& links, double bytes) {
  std::vector<Use> uses;
  const auto add = [&](int constraint, double share) {
    if (constraint < 0 || share <= 0) return;
    for (Use& use : uses)
      if (use.constraint == constraint) {
        use.weight += share;
        return;
      }
    uses.push_back({constraint, share});
  };
  const auto is_cpu = [&](int device) { return platform.topology().devices[at(device)].kind == DeviceKind::kCpu; };
  for (const int link : links) {
    const Link& way = platform.links()[at(link)];
    if (is_cpu(way.from) == is_cpu(way.to)) continue;  // between sockets the bytes lie in one of both
    const int cpu = is_cpu(way.to) ? way.to : way.from;
    const HostMemory& memory = platform.host_memory(cpu);
    if (memory.both < 0) continue;
    const double share = 1 - kCache_B / std::max(kCache_B, 2 * sharers(platform, cpu) * bytes);
    add(is_cpu(way.to) ? memory.write : memory.read, share);
    add(memory.both, share);
  }
  return uses;
}

}  // namespace linkcast::activities
