#include "sim/plan/channel_flows.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/base/index.hpp"

namespace linkcast::activities {
namespace {

// A byte stored to another GPU takes so much of a PCIe cable's limits for both directions, which are those of stores
// and loads of host memory, where that of kernels is known. source: two L40S, from 16 MiB on 19.1 to 20.1 GB/s in each
// direction (calibrate/data/l40s), where 16.8 are half of that limit; other boxes of PCIe 4 up to 26
constexpr double kStoresBothWays = 0.8;

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

namespace {

constexpr double kNoCap = std::numeric_limits<double>::infinity();
constexpr std::size_t kLinksAHop = 2;  // source: ours, to a switch and from it

double lowest_capacity(const Platform& platform, const std::vector<int>& links) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const int link : links)
    lowest = std::min(lowest, platform.constraints()[static_cast<std::size_t>(link)].capacity.value);
  return lowest;
}

}  // namespace

/// A hop through host memory is store and forward: the sender fills a slice in host memory, then the receiver drains
/// it. With one slice at a time (host_wait 1) the two ways do not overlap for one ring.
double add_hop(const ProblemBuilder& builder, const Hop& hop, double host_wait, HopLinks& links) {
  const Platform& platform = builder.platform();
  const int from = platform.gpu(hop.from), to = platform.gpu(hop.to);
  const auto add_route = [&](int source, int target) {
    const std::vector<int>& route = platform.peer_route(source, target)->links;
    for (std::vector<int>* list : {&links.all, &links.peers}) list->insert(list->end(), route.begin(), route.end());
  };
  if (hop.kind != HopKind::kHostMemory) {
    const int next = hop.kind == HopKind::kRelay ? platform.gpu(hop.via) : to;
    add_route(from, next);
    if (next != to) add_route(next, to);
    return kNoCap;
  }
  const StagedRoute staged = staged_route(platform, from, to);
  for (const std::vector<int>* leg : {&staged.up, &staged.down})
    links.all.insert(links.all.end(), leg->begin(), leg->end());
  const double up = std::min(lowest_capacity(platform, staged.up), host_kernel_Bps(platform, true));
  const double down = std::min({lowest_capacity(platform, staged.down), builder.flow_cap(staged.down).rate_Bps,
                                host_kernel_Bps(platform, false)});
  return 1 / (1 / std::min(up, down) + host_wait / std::max(up, down));
}

std::vector<Use> kernel_uses(const ProblemBuilder& builder, const HopLinks& links) {
  const Platform& platform = builder.platform();
  std::vector<Use> uses = builder.uses(links.all, MoveBy::kSm);
  for (const int link : links.peers) {
    const int cable = platform.links()[static_cast<std::size_t>(link)].cable, both = platform.kernel_duplex_of(cable);
    if (both < 0) continue;
    for (Use& use : uses)
      if (use.constraint == both || use.constraint == platform.duplex_of(cable)) use.weight -= 1 - kStoresBothWays;
  }
  for (Use& use : uses) {
    const auto& constraint = platform.constraints()[static_cast<std::size_t>(use.constraint)];
    if (is_accelerator_cable(platform.topology().cables[static_cast<std::size_t>(constraint.cable)].kind))
      use.weight /= kernel_link_share(platform, constraint.cable);
  }
  return uses;
}

Activity channel_activity(const ProblemBuilder& builder, const std::vector<Hop>& hops, const ChannelLoad& load) {
  const Platform& platform = builder.platform();
  Activity flow;
  HopLinks links;
  for (std::vector<int>* list : {&links.all, &links.peers}) list->reserve(kLinksAHop * hops.size());
  for (const Hop& hop : hops) {
    const double cap_Bps = add_hop(builder, hop, load.host_wait, links);
    flow.rate_cap_Bps =
        std::min(flow.rate_cap_Bps, hop.kind == HopKind::kHostMemory ? cap_Bps / load.host.wire : cap_Bps);
  }
  const bool accelerators_only = platform.accelerators_only(links.all);
  const double share = accelerators_only ? kernel_link_share(platform, links.all) : 1;
  // Whole weights where that can be: of others SimGrid needs several communications.
  flow.uses = accelerators_only ? builder.uses(links.all, MoveBy::kSm) : kernel_uses(builder, links);
  add_host_hops(platform, hops, load.host, flow.uses);
  flow.work_B = load.bytes / load.payload_share / share;
  flow.rate_cap_Bps = std::min(flow.rate_cap_Bps, load.rate_cap_Bps / load.payload_share / share);
  return flow;
}

std::vector<Use> idle_uses(const ProblemBuilder& builder, const std::vector<Hop>& hops, const ChannelLoad& load) {
  if (std::none_of(hops.begin(), hops.end(), [](const Hop& hop) { return hop.kind == HopKind::kHostMemory; }))
    return {};
  HopLinks links;
  for (const Hop& hop : hops) add_hop(builder, hop, load.host_wait, links);
  const std::vector<Use> wire = kernel_uses(builder, links);
  std::vector<Use> uses = wire, idle;
  add_host_hops(builder.platform(), hops, load.host, uses);
  for (std::size_t i = 0; i < wire.size(); ++i)
    if (uses[i].weight > wire[i].weight) idle.push_back({wire[i].constraint, uses[i].weight - wire[i].weight});
  return idle;
}

Activity multicast_activity(const ProblemBuilder& builder, const std::vector<int>& members, int head,
                            const MulticastPart& part) {
  const Platform& platform = builder.platform();
  std::vector<int> links, requested;
  for (const int member : members) {
    const int neighbour = member == members.front() ? members.back() : members.front();
    const auto& route = platform.peer_route(platform.gpu(member), platform.gpu(neighbour));
    if (!route || route->links.size() != 2 || !platform.accelerators_only(route->links))
      throw InputError("algorithm: multicast needs all GPUs below one level of NVSwitches");
    const int out = route->links.front(), in = out ^ 1;
    const bool is_head = member == head;
    if (part.loads) {
      links.push_back(out);     // what it adds to the sum
      requested.push_back(in);  // the head's loads
      if (is_head) {
        links.push_back(in);
        requested.push_back(out);
      }
    }
    if (part.stores) {
      links.push_back(in);
      if (is_head) links.push_back(out);
    }
  }
  Activity flow;
  flow.uses = builder.uses(links, MoveBy::kSm);
  for (const int constraint : requested) {
    const auto used =
        std::find_if(flow.uses.begin(), flow.uses.end(), [&](const Use& use) { return use.constraint == constraint; });
    if (used != flow.uses.end())
      used->weight += kernel_request_share();
    else
      flow.uses.push_back({constraint, kernel_request_share()});
  }
  flow.work_B = part.bytes / kernel_link_share() / part.link_share;
  return flow;
}

std::vector<Hop> ring_hops(const Channel& ring, bool closed) {
  std::vector<Hop> hops = ring.hops;
  if (!closed) hops.pop_back();
  return hops;
}

std::vector<std::vector<Hop>> tree_ways(const Tree& tree) {
  std::vector<Hop> up(tree.hops.rbegin(), tree.hops.rend());
  for (Hop& hop : up) std::swap(hop.from, hop.to);
  return {std::move(up), tree.hops};
}

}  // namespace linkcast::activities
