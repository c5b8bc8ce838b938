#include "sim/forecast/transfer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace linkcast {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An NVLink packet is one 16-byte header flit and up to sixteen 16-byte data flits.
// source: paper 001 (TPDS 2020), section 2.2 (packets of one to sixteen 128-bit flits).
constexpr double kHeader_B = 16;
constexpr double kDmaPayload_B = 256;
// A warp's stores leave the SM as 128-byte lines. source: NVIDIA CUDA C++ Programming Guide, device memory accesses.
constexpr double kKernelPayload_B = 128;

/// Copy engines of a GPU: one for data that leaves it, one for data that arrives from host memory.
int out_queue(int device) { return 2 * device; }
int in_queue(int device) { return 2 * device + 1; }

const std::string& name_of(const Platform& platform, int device) {
  return platform.topology().devices[static_cast<std::size_t>(device)].id;
}
bool is_gpu(const Platform& platform, int device) {
  return platform.topology().devices[static_cast<std::size_t>(device)].kind == DeviceKind::kGpu;
}

}  // namespace

double kernel_link_share() {
  return (kKernelPayload_B / (kKernelPayload_B + kHeader_B)) / (kDmaPayload_B / (kDmaPayload_B + kHeader_B));
}

std::string runtime_transport(const Platform& platform, int source, int target) {
  if (source == target) return "local";
  if (!is_gpu(platform, source) || !is_gpu(platform, target)) return "host";
  return platform.peer_route(source, target) ? "peer" : "staged";
}

StagedRoute staged_route(const Platform& platform, int source, int target) {
  StagedRoute route;
  route.up = platform.to_host(source).links;
  if (platform.socket_of(source) != platform.socket_of(target))
    route.down = platform.between_sockets(platform.socket_of(source), platform.socket_of(target)).links;
  const auto& last = platform.from_host(target).links;
  route.down.insert(route.down.end(), last.begin(), last.end());
  return route;
}

ProblemBuilder::ProblemBuilder(const Platform& platform) : platform_(&platform) {
  for (const Constraint& constraint : platform.constraints())
    problem_.capacity_Bps.push_back(constraint.capacity.value);
  problem_.queue_count = 2 * static_cast<int>(platform.topology().devices.size());
}

int ProblemBuilder::add_activity(Activity activity) {
  problem_.activities.push_back(std::move(activity));
  return static_cast<int>(problem_.activities.size()) - 1;
}

std::vector<Use> ProblemBuilder::uses(const std::vector<int>& links) const {
  std::vector<Use> uses;
  const auto add = [&](int constraint) {
    for (Use& use : uses)
      if (use.constraint == constraint) {
        use.weight += 1;
        return;
      }
    uses.push_back({constraint, 1});
  };
  for (const int link : links) {
    add(link);
    const int duplex = platform_->duplex_of(platform_->links()[static_cast<std::size_t>(link)].cable);
    if (duplex >= 0) add(duplex);
  }
  return uses;
}

ProblemBuilder::FlowCap ProblemBuilder::flow_cap(const std::vector<int>& links) const {
  FlowCap cap;
  for (const int link : links) {
    const auto cable = static_cast<std::size_t>(platform_->links()[static_cast<std::size_t>(link)].cable);
    const auto one = platform_->cable_parameter(platform_->topology().cables[cable], "flow_bandwidth_Bps");
    if (one && one->value < cap.rate_Bps) cap = {one->value, link};
  }
  return cap;
}

double ProblemBuilder::lone_rate(const std::vector<int>& links) const {
  double rate = flow_cap(links).rate_Bps;
  for (const Use& use : uses(links))
    rate = std::min(rate, problem_.capacity_Bps[static_cast<std::size_t>(use.constraint)] / use.weight);
  return rate;
}

int ProblemBuilder::add_leg(PlannedTransfer& plan, const std::vector<int>& links, double bytes, const Regime& regime,
                            MoveBy by, std::vector<int> queues) {
  Activity leg;
  const bool accelerator = std::all_of(links.begin(), links.end(), [&](int link) {
    const auto cable = static_cast<std::size_t>(platform_->links()[static_cast<std::size_t>(link)].cable);
    return is_accelerator_cable(platform_->topology().cables[cable].kind);
  });
  leg.work_B = by == MoveBy::kSm && accelerator ? bytes / kernel_link_share() : bytes;
  leg.uses = uses(links);
  const FlowCap cap = flow_cap(links);
  if (cap.link >= 0) plan.cap_link = cap.link;
  leg.rate_cap_Bps = std::min(cap.rate_Bps, regime.rate_cap ? regime.rate_cap->value : kInfinity);
  leg.delay_s = regime.startup.value;
  if (regime.flat) leg.delay_s = std::max(0.0, leg.delay_s - leg.work_B / std::min(leg.rate_cap_Bps, lone_rate(links)));
  if (by == MoveBy::kDma) leg.queues = std::move(queues);
  plan.links.insert(plan.links.end(), links.begin(), links.end());
  plan.used.push_back(regime.startup);
  if (regime.rate_cap) plan.used.push_back(*regime.rate_cap);
  plan.activities.push_back(add_activity(std::move(leg)));
  return plan.activities.back();
}

int ProblemBuilder::add_copy(PlannedTransfer& plan, const std::vector<int>& links, double bytes,
                             const TransportModel& model, MoveBy by, std::vector<int> queues) {
  const int index = add_leg(plan, links, bytes, model.regime(bytes), by, std::move(queues));
  Activity& leg = problem_.activities[static_cast<std::size_t>(index)];
  const double rate = lone_rate(links);
  double least_s = 0;
  for (const Regime& earlier : model.regimes) {
    if (bytes <= earlier.to_B) break;
    const double moving_s =
        earlier.to_B * leg.work_B / bytes / std::min(rate, earlier.rate_cap ? earlier.rate_cap->value : kInfinity);
    least_s =
        std::max(least_s, earlier.flat ? std::max(earlier.startup.value, moving_s) : earlier.startup.value + moving_s);
  }
  leg.delay_s += std::max(0.0, least_s - leg.delay_s - leg.work_B / std::min(rate, leg.rate_cap_Bps));
  return index;
}

PlannedTransfer ProblemBuilder::add_local(const Transfer& transfer) {
  const TransportModel model = transport_model(*platform_, "local");
  PlannedTransfer plan{"local", "local", -1, {}, {}, 0, model.regimes.front().startup.value, -1, {}};
  plan.main_activity = add_copy(plan, {}, transfer.bytes, model, transfer.by, {out_queue(transfer.source)});
  return plan;
}

PlannedTransfer ProblemBuilder::add_peer(const Transfer& transfer) {
  const auto& route = platform_->peer_route(transfer.source, transfer.target);
  if (!route)
    throw InputError("no peer access from " + name_of(*platform_, transfer.source) + " to " +
                     name_of(*platform_, transfer.target) + " on " + platform_->topology().name +
                     ": use transport relay or staged");
  const TransportModel model = peer_model(*platform_, transfer.read);
  PlannedTransfer plan{"peer", model.name, -1, {}, {}, 0, model.regimes.front().startup.value, -1, {}};
  plan.main_activity = add_copy(plan, route->links, transfer.bytes, model, transfer.by, {out_queue(transfer.source)});
  return plan;
}

PlannedTransfer ProblemBuilder::add_relay(const Transfer& transfer) {
  const auto relays = platform_->relays(transfer.source, transfer.target);
  if (relays.empty())
    throw InputError("no GPU has a direct link to both " + name_of(*platform_, transfer.source) + " and " +
                     name_of(*platform_, transfer.target));
  int via = transfer.via;
  if (via >= 0 && std::find(relays.begin(), relays.end(), via) == relays.end()) {
    std::string list;
    for (const int relay : relays) list += (list.empty() ? "" : ", ") + name_of(*platform_, relay);
    throw InputError("via: " + name_of(*platform_, via) + " has no direct link to both ends: one of " + list);
  }
  const auto serial_time = [&](int relay) {
    return 1 / lone_rate(platform_->peer_route(transfer.source, relay)->links) +
           1 / lone_rate(platform_->peer_route(relay, transfer.target)->links);
  };
  if (via < 0)
    via =
        *std::min_element(relays.begin(), relays.end(), [&](int a, int b) { return serial_time(a) < serial_time(b); });
  // Two copies one after the other; the second starts when the first has ended, and switching costs a little more.
  const TransportModel model = peer_model(*platform_, transfer.read);
  const Resolved extra = platform_->parameter("transport.relay.handover_s", 0);
  PlannedTransfer plan{"relay", "relay", via, {}, {}, 0, 2 * model.regimes.front().startup.value + extra.value, -1, {}};
  plan.used.push_back(extra);
  const int first = add_copy(plan, platform_->peer_route(transfer.source, via)->links, transfer.bytes, model,
                             transfer.by, {out_queue(transfer.source)});
  const int second = add_copy(plan, platform_->peer_route(via, transfer.target)->links, transfer.bytes, model,
                              transfer.by, {out_queue(via)});
  problem_.activities[static_cast<std::size_t>(second)].after = {first};
  problem_.activities[static_cast<std::size_t>(second)].delay_s += extra.value;
  plan.main_activity = second;
  return plan;
}

/// A chunk goes up into host memory; from then on the next chunk's way up and this one's way down flow at once;
/// the last chunk goes down alone. Up to one chunk nothing overlaps.
PlannedTransfer ProblemBuilder::add_staged(const Transfer& transfer) {
  const TransportModel model = transport_model(*platform_, "staged");
  const Regime& regime = model.regime(transfer.bytes);
  const StagedRoute route = staged_route(*platform_, transfer.source, transfer.target);
  PlannedTransfer plan{"staged", "staged", -1, {}, {}, 0, model.regimes.front().startup.value, -1, {}};
  std::vector<int> both = route.up;
  both.insert(both.end(), route.down.begin(), route.down.end());
  if (regime.flat) {
    plan.main_activity = add_leg(plan, both, transfer.bytes, regime, transfer.by,
                                 {out_queue(transfer.source), in_queue(transfer.target)});
    return plan;
  }
  const Resolved chunk = staging_chunk(*platform_);
  plan.used.push_back(chunk);
  const double head = std::min(transfer.bytes, chunk.value);
  Regime at_once = regime;
  at_once.startup.value = 0;
  int previous = add_leg(plan, route.up, head, regime, transfer.by, {out_queue(transfer.source)});
  plan.main_activity = previous;
  const auto follow = [&](const std::vector<int>& links, double bytes, std::vector<int> queues) {
    const int next = add_leg(plan, links, bytes, at_once, transfer.by, std::move(queues));
    problem_.activities[static_cast<std::size_t>(next)].after = {previous};
    previous = next;
    return next;
  };
  if (transfer.bytes > head)
    plan.main_activity = follow(both, transfer.bytes - head, {out_queue(transfer.source), in_queue(transfer.target)});
  follow(route.down, head, {in_queue(transfer.target)});
  plan.links = both;
  return plan;
}

PlannedTransfer ProblemBuilder::add_host(const Transfer& transfer) {
  const bool up = is_gpu(*platform_, transfer.source);
  const int gpu = up ? transfer.source : transfer.target;
  const int cpu = up ? transfer.target : transfer.source;
  const int own = platform_->socket_of(gpu);
  std::vector<int> links = up ? platform_->to_host(gpu).links : std::vector<int>{};
  if (own != cpu) {
    const Route across = up ? platform_->between_sockets(own, cpu) : platform_->between_sockets(cpu, own);
    links.insert(links.end(), across.links.begin(), across.links.end());
  }
  if (!up) links.insert(links.end(), platform_->from_host(gpu).links.begin(), platform_->from_host(gpu).links.end());
  const TransportModel model = transport_model(*platform_, "host");
  PlannedTransfer plan{"host", "host", -1, {}, {}, 0, model.regimes.front().startup.value, -1, {}};
  plan.main_activity = add_copy(plan, links, transfer.bytes, model, transfer.by, {up ? out_queue(gpu) : in_queue(gpu)});
  return plan;
}

PlannedTransfer ProblemBuilder::add(const Transfer& transfer) {
  if (!is_gpu(*platform_, transfer.source) && !is_gpu(*platform_, transfer.target))
    throw InputError("a copy needs a GPU at one end: " + name_of(*platform_, transfer.source) + " and " +
                     name_of(*platform_, transfer.target) + " are none");
  const std::string natural = runtime_transport(*platform_, transfer.source, transfer.target);
  const std::string transport =
      transfer.transport.empty() ? (transfer.via >= 0 ? "relay" : natural) : transfer.transport;
  const bool fixed = natural == "local" || natural == "host";
  if (transport != natural && (fixed || transport == "local" || transport == "host"))
    throw InputError("transport '" + transport + "' cannot join " + name_of(*platform_, transfer.source) + " and " +
                     name_of(*platform_, transfer.target) + ": " +
                     (fixed ? "only " + natural + " can" : "one of peer, relay, staged"));
  if (transfer.via >= 0 && transport != "relay") throw InputError("via: only transport relay goes through another GPU");
  if (transfer.read && transport != "peer" && transport != "relay" && transport != "staged")
    throw InputError("direction: only copies between two GPUs are read or written");
  if (transport == "local") return add_local(transfer);
  if (transport == "host") return add_host(transfer);
  if (transport == "peer") return add_peer(transfer);
  if (transport == "relay") return add_relay(transfer);
  if (transport == "staged") return add_staged(transfer);
  throw InputError("unknown transport '" + transport + "': one of local, peer, relay, staged, host");
}

}  // namespace linkcast
