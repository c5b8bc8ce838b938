#include "sim/plan/host_hops.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/index.hpp"

namespace linkcast::activities {
namespace {

/// Of a round of a closed ring of k steps one part is sent alone, one received alone and k - 1 cross both ways:
///     time of a byte = (1/u + 1/d + (k - 1)/x) / k        x = D / 2 each way
/// @returns  that, times x: what the duplex limit D is taken for instead of one byte each way
double phases(double up_Bps, double down_Bps, double duplex_Bps, int steps) {
  if (steps <= 0) return 1;
  const double alone = duplex_Bps / 2 * (1 / up_Bps + 1 / down_Bps);
  return (alone + steps - 1) / steps;
}

/// The same of a memory: of its own limits for writing and for reading in the first and the last part.
double memory_phases(const Platform& platform, const HostMemory& memory, const HostHops& how) {
  const auto capacity = [&](int constraint) {
    return platform.constraints()[at(constraint < 0 ? memory.both : constraint)].capacity.value;
  };
  if (how.steps <= 0) return 2 * how.memory;
  // While all write and nobody reads, the cache overflows sooner. source: assumed, twice the share
  const double share = std::min(1.0, 2 * how.memory);
  const double alone = share * capacity(memory.both) * (1 / capacity(memory.write) + 1 / capacity(memory.read));
  return (alone + 2 * how.memory * (how.steps - 1)) / how.steps;
}

/// A cable between a GPU and a CPU, or a switch between them.
void take_cable(const Platform& platform, const HostHops& how, Use& use) {
  const Constraint& limit = platform.constraints()[at(use.constraint)];
  if (limit.cable < 0 || !is_pcie_cable(platform.topology().cables[at(limit.cable)].kind)) return;
  const auto rate = [&](int link, bool stores) {
    return std::min(platform.constraints()[at(link)].capacity.value, host_kernel_Bps(platform, stores));
  };
  const auto towards_host = [&](int link) {  // the end of the cable that is a CPU, or a switch next to one
    return platform.topology().devices[at(platform.links()[at(link)].from)].kind == DeviceKind::kGpu;
  };
  use.weight *= how.wire;
  if (limit.kind == ConstraintKind::kLink) {
    use.weight *= limit.capacity.value / rate(limit.link, towards_host(limit.link));
  } else if (limit.kind == ConstraintKind::kKernelDuplex) {
    const int up = towards_host(2 * limit.cable) ? 2 * limit.cable : 2 * limit.cable + 1;
    use.weight *= phases(rate(up, true), rate(up ^ 1, false), limit.capacity.value, how.steps);
  }
}

}  // namespace

double host_kernel_Bps(const Platform& platform, bool stores) {
  const std::string name = stores ? "d2h_sm" : "h2d_sm";
  const Transports& transports = platform.transports();
  if (!transports.measured(name)) return std::numeric_limits<double>::infinity();
  const auto& cap = transports.get(name).regimes.back().rate_cap;
  return cap ? cap->value : std::numeric_limits<double>::infinity();
}

void add_host_hops(const Platform& platform, const std::vector<Hop>& hops, const HostHops& how,
                   std::vector<Use>& uses) {
  const auto through_host = [](const Hop& hop) { return hop.kind == HopKind::kHostMemory; };
  if (std::none_of(hops.begin(), hops.end(), through_host)) return;
  for (Use& use : uses) take_cable(platform, how, use);
  for (const Hop& hop : hops) {
    const HostMemory& memory = platform.host_memory(platform.socket_of(platform.gpu(hop.to)));
    if (!through_host(hop) || memory.both < 0 || how.memory <= 0) continue;
    const double weight = how.wire * memory_phases(platform, memory, how);
    const auto known =
        std::find_if(uses.begin(), uses.end(), [&](const Use& use) { return use.constraint == memory.both; });
    if (known != uses.end())
      known->weight += weight;
    else
      uses.push_back({memory.both, weight});
  }
}

}  // namespace linkcast::activities
