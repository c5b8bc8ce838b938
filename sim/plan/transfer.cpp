#include "sim/plan/transfer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/text.hpp"
#include "sim/plan/host_memory.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::activities {

// What kernels get of Infinity Fabric is the link's doing, not the kernel's: one, two and four links of MI250X carry
// 38, 76 and 148 GB/s of its stores. source: calibrate/data/lumi/reframe-kernel.json
double kernel_link_share(const Platform& platform, int cable) {
  const Cable& one = platform.topology().cables[at(cable)];
  const auto stored = platform.forwards(cable) ? platform.cable_parameter(one, key::cable_store) : std::nullopt;
  const auto copied = stored ? platform.cable_parameter(one, key::cable_bandwidth) : std::nullopt;
  return stored && copied ? std::min(1.0, stored->value / copied->value) : kernel_link_share();
}

double kernel_link_share(const Platform& platform, const std::vector<int>& links) {
  double share = 1;
  for (const int link : links) share = std::min(share, kernel_link_share(platform, platform.links()[at(link)].cable));
  return share;
}

double kernel_rate(const Platform& platform, const std::vector<int>& links, bool loads) {
  double rate = kInfinity;
  for (const int link : links)
    if (!platform.forwards(platform.links()[at(link)].cable)) rate = std::min(rate, platform.kernel_cap(link, loads));
  return rate;
}

namespace {

// An NVLink packet is one 16-byte header flit and up to sixteen 16-byte data flits.
// source: paper 001 (TPDS 2020), section 2.2 (packets of one to sixteen 128-bit flits).
constexpr double kHeader_B = 16;
constexpr double kDmaPayload_B = 256;
// A warp's loads and stores move 128-byte lines. source: NVIDIA CUDA C++ Programming Guide, device memory accesses.
constexpr double kKernelPayload_B = 128;
// A load sends a header of its own the other way for every line: bytes there per byte here, both with headers.
constexpr double kRequests = kHeader_B / (kKernelPayload_B + kHeader_B);

// A start-up that stands in for one never measured. source: on 4 H200 those of copy engines and kernels, pushed and
// pulled, differ by a factor of 1.04 to 1.2, pulls by copy engines by 5.7
constexpr double kStandInError = 0.3;
// Host copies by engines up to this size do not wait for those in the other direction. source: H100 and H200
// (calibrate/data), on all six hosts: 0.1 us longer to 64 B, 0.4 at 256 B, 0.8 from 4 KiB on
constexpr double kInCommand_B = 64;
constexpr double kMostChunks = 65536;  // keeps one query below a second
constexpr std::size_t kUsed = 3;       // source: ours, most copies have a start-up, its extra from rest, a rate

const std::string& name_of(const Platform& platform, int device) { return platform.topology().devices[at(device)].id; }
bool is_gpu(const Platform& platform, int device) {
  return platform.topology().devices[at(device)].kind == DeviceKind::kGpu;
}

/// Of the slower of two devices.
double slowness(const Platform& platform, int a, int b) {
  const auto& devices = platform.topology().devices;
  return std::max(devices[at(a)].slow, devices[at(b)].slow);
}

Resolved times(Resolved time, double factor) {
  time.value *= factor;
  return time;
}

const TransportModel& peer_model(const Transports& transports, MoveBy by, std::optional<bool> read) {
  if (by == MoveBy::kSm) return transports.get(read.value_or(false) ? "peer_sm_read" : "peer_sm");
  return transports.get(read.value_or(transports.only_pulled()) ? "peer_read" : "peer");
}

}  // namespace

int out_queue(int device) { return 2 * device; }
int in_queue(int device) { return 2 * device + 1; }

double kernel_link_share() {
  return (kKernelPayload_B / (kKernelPayload_B + kHeader_B)) / (kDmaPayload_B / (kDmaPayload_B + kHeader_B));
}

double kernel_request_share() { return kRequests; }

std::string runtime_transport(const Platform& platform, int source, int target) {
  if (source == target) return "local";
  if (!is_gpu(platform, source) || !is_gpu(platform, target)) return "host";
  return platform.peer_route(source, target) ? "peer" : "staged";
}

bool crosses_host(const Platform& platform, int source, int target, const std::string& named) {
  if (source == target) return named == "staged";
  if (!is_gpu(platform, source) || !is_gpu(platform, target)) return true;
  return named.empty() ? !platform.peer_route(source, target) : named == "staged";
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
  problem_.capacity_Bps.resize(platform.constraints().size());
  std::transform(platform.constraints().begin(), platform.constraints().end(), problem_.capacity_Bps.begin(),
                 [](const Constraint& constraint) { return constraint.capacity.value; });
  problem_.queue_count = 2 * static_cast<int>(platform.topology().devices.size());
  engine_used_.assign(at(problem_.queue_count), 0);
}

int ProblemBuilder::add_activity(Activity activity) {
  problem_.activities.push_back(std::move(activity));
  return static_cast<int>(problem_.activities.size()) - 1;
}

std::vector<Use> ProblemBuilder::uses(const std::vector<int>& links, MoveBy by, double requests) const {
  std::vector<Use> uses;
  uses.reserve(links.size());
  const auto add = [&](int constraint, double weight) {
    for (Use& use : uses)
      if (use.constraint == constraint) {
        use.weight += weight;
        return;
      }
    uses.push_back({constraint, weight});
  };
  for (const int link : links) {
    add(link, 1);
    if (requests > 0) add(link ^ 1, requests);
    const int cable = platform_->links()[at(link)].cable;
    if (platform_->duplex_of(cable) >= 0) add(platform_->duplex_of(cable), 1 + requests);
    if (by == MoveBy::kSm && platform_->kernel_duplex_of(cable) >= 0)
      add(platform_->kernel_duplex_of(cable), 1 + requests);
  }
  return uses;
}

ProblemBuilder::FlowCap ProblemBuilder::flow_cap(const std::vector<int>& links) const {
  FlowCap cap;
  for (const int link : links)
    if (platform_->flow_cap(link) < cap.rate_Bps) cap = {platform_->flow_cap(link), link};
  return cap;
}

double ProblemBuilder::lone_rate(const std::vector<int>& links) const { return lone_rate(links, uses(links)); }

double ProblemBuilder::lone_rate(const std::vector<int>& links, const std::vector<Use>& uses) const {
  double rate = flow_cap(links).rate_Bps;
  for (const Use& use : uses) rate = std::min(rate, problem_.capacity_Bps[at(use.constraint)] / use.weight);
  return rate;
}

double ProblemBuilder::payload_rate(const std::vector<int>& links, const std::vector<Use>& uses,
                                    const Mover& mover) const {
  const double rate = lone_rate(links, uses);
  if (mover.by == MoveBy::kDma || links.empty() || !platform_->accelerators_only(links)) return rate;
  return std::min(rate * kernel_link_share(*platform_, links), kernel_rate(*platform_, links, mover.pulled));
}

double ProblemBuilder::start_extra(PlannedTransfer& plan, const TransportModel& model, const Mover& mover) {
  bool waits = false;
  for (const int queue : mover.queues) {
    if (mover.by == MoveBy::kSm) break;
    waits = waits || engine_used_[at(queue)];
    engine_used_[at(queue)] = 1;
  }
  const bool turn = waits && !mover.pulled;
  if (!turn && model.single.calibrated) enter(plan, times(model.single, mover.slow));
  const double extra = mover.slow * (turn ? platform_->transports().engine_turn_s() : model.single.value);
  plan.latency_s += extra;
  return extra;
}

double ProblemBuilder::resend_s(const std::vector<int>& links) const {
  double sum = 0;
  for (const int link : links) sum += platform_->resend_s(link);
  return sum;
}

void ProblemBuilder::add_latency(PlannedTransfer& plan, const TransportModel& model, double slow,
                                 const std::vector<int>& links) const {
  plan.latency_s += slow * model.regimes.front().startup.value + resend_s(links);
}

void ProblemBuilder::enter(PlannedTransfer& plan, const Resolved& delay) {
  const double rel = delay.calibrated ? delay.rel_error : kStandInError;
  plan.delay_error_s = std::hypot(plan.delay_error_s, rel * delay.value);
  plan.used.reserve(kUsed);
  plan.used.push_back(delay);
}

void ProblemBuilder::enter_rate(PlannedTransfer& plan, const Regime& regime, double bytes, double slow,
                                double links_Bps) {
  if (!regime.rate_cap) return;
  plan.used.push_back(*regime.rate_cap);
  const double own_Bps = regime.rate_cap->value / slow;
  if (own_Bps < links_Bps) plan.rate_error_s += regime.rate_cap->rel_error * bytes / own_Bps;
}

ProblemBuilder::Waits ProblemBuilder::waits_of(const Transfer& transfer, const TransportModel& model, double slow) {
  return transfer.bidirectional ? Waits{times(model.bidirectional, slow), 1} : Waits{};
}

Pace ProblemBuilder::with_waits(PlannedTransfer& plan, const Waits& waits, double bytes, double rate_Bps, Pace pace) {
  if (!waits.each.calibrated) return pace;
  plan.wait = waits.each;
  plan.waits = waits.before;
  plan.chunk_waits = std::max(0.0, bytes / waits.chunk_B - 1);
  plan.used.push_back(waits.each);
  pace.delay_s += waits.before * waits.each.value;
  const double chunk_wait_s_B = waits.each.value / waits.chunk_B;  // seconds a byte
  pace.cap_Bps = chunk_wait_s_B > 0 ? 1 / (1 / std::min(rate_Bps, pace.cap_Bps) + chunk_wait_s_B) : pace.cap_Bps;
  return pace;
}

int ProblemBuilder::add_leg(PlannedTransfer& plan, const std::vector<int>& links, double bytes, double delay_s,
                            double rate_cap_Bps, const Mover& mover) {
  return add_leg(plan, links, uses(links), bytes, delay_s, rate_cap_Bps, mover);
}

int ProblemBuilder::add_leg(PlannedTransfer& plan, const std::vector<int>& links, std::vector<Use> copied, double bytes,
                            double delay_s, double rate_cap_Bps, const Mover& mover) {
  Activity leg;
  const bool packets = mover.by == MoveBy::kSm && !links.empty() && platform_->accelerators_only(links);
  const double share = packets ? kernel_link_share(*platform_, links) : 1;
  leg.work_B = bytes / share;
  leg.uses =
      mover.by == MoveBy::kSm ? uses(links, mover.by, packets && mover.pulled ? kRequests : 0) : std::move(copied);
  if (mover.host)
    for (const Use& use : host_memory_uses(*platform_, links, bytes)) leg.uses.push_back(use);
  const FlowCap cap = flow_cap(links);
  if (cap.link >= 0) plan.cap_link = cap.link;
  if (packets) rate_cap_Bps = std::min(rate_cap_Bps, kernel_rate(*platform_, links, mover.pulled));
  leg.rate_cap_Bps = std::min(cap.rate_Bps, rate_cap_Bps / share);
  leg.delay_s = delay_s + resend_s(links);
  if (mover.by == MoveBy::kDma) leg.queues = mover.queues;
  plan.links.insert(plan.links.end(), links.begin(), links.end());
  if (mover.pulled && !leg.queues.empty()) {  // the engine is free for other streams until the data arrive
    Activity wait;
    wait.delay_s = std::exchange(leg.delay_s, 0);
    plan.activities.push_back(add_activity(std::move(wait)));
    leg.after = {plan.activities.back()};
  }
  plan.activities.push_back(add_activity(std::move(leg)));
  return plan.activities.back();
}

int ProblemBuilder::add_copy(PlannedTransfer& plan, const std::vector<int>& links, double bytes,
                             const TransportModel& model, const Mover& mover, bool single) {
  const Regime& regime = model.regime(bytes);
  std::vector<Use> copied = uses(links);
  const double payload_Bps = payload_rate(links, copied, mover);
  Pace pace = model.pace(bytes, payload_Bps * mover.slow);
  pace = with_waits(plan, mover.waits, bytes, payload_Bps, {pace.delay_s * mover.slow, pace.cap_Bps / mover.slow});
  double delay = pace.delay_s;
  enter(plan, times(regime.startup, mover.slow));
  if (single) delay += start_extra(plan, model, mover);
  enter_rate(plan, regime, bytes, mover.slow, payload_Bps);
  return add_leg(plan, links, std::move(copied), bytes, delay, pace.cap_Bps, mover);
}

PlannedTransfer ProblemBuilder::add_local(const Transfer& transfer) {
  const TransportModel& model = platform_->transports().get(transfer.by == MoveBy::kSm ? "local_sm" : "local");
  PlannedTransfer plan{"local", model.name};
  const double slow = slowness(*platform_, transfer.source, transfer.source);
  add_latency(plan, model, slow, {});
  plan.executor = transfer.source;
  plan.main_activity = add_copy(plan, {}, transfer.bytes, model,
                                {transfer.by, false, {out_queue(transfer.source)}, slow}, transfer.single);
  return plan;
}

PlannedTransfer ProblemBuilder::add_peer(const Transfer& transfer) {
  const auto& route = platform_->peer_route(transfer.source, transfer.target);
  if (!route)
    throw InputError("no peer access from " + name_of(*platform_, transfer.source) + " to " +
                     name_of(*platform_, transfer.target) + " on " + platform_->topology().name +
                     ": use transport relay or staged");
  const TransportModel& model = peer_model(platform_->transports(), transfer.by, transfer.read);
  const bool pulled = transfer.read.value_or(false);
  PlannedTransfer plan{"peer", model.name};
  const double slow = slowness(*platform_, transfer.source, transfer.target);
  add_latency(plan, model, slow, route->links);
  plan.executor = pulled && transfer.by == MoveBy::kSm ? transfer.target : transfer.source;
  plan.main_activity = add_copy(plan, route->links, transfer.bytes, model,
                                {transfer.by, pulled, {out_queue(plan.executor)}, slow}, transfer.single);
  return plan;
}

int ProblemBuilder::choose_relay(const Transfer& transfer) const {
  const auto relays = platform_->relays(transfer.source, transfer.target);
  if (relays.empty())
    throw InputError("no GPU has a direct link to both " + name_of(*platform_, transfer.source) + " and " +
                     name_of(*platform_, transfer.target));
  if (transfer.via >= 0) {
    if (std::find(relays.begin(), relays.end(), transfer.via) != relays.end()) return transfer.via;
    std::vector<std::string> names;
    for (const int relay : relays) names.push_back(name_of(*platform_, relay));
    throw InputError("via: " + name_of(*platform_, transfer.via) + " has no direct link to both ends: one of " +
                     joined(names));
  }
  const auto serial_time = [&](int relay) {
    return 1 / lone_rate(platform_->peer_route(transfer.source, relay)->links) +
           1 / lone_rate(platform_->peer_route(relay, transfer.target)->links);
  };
  return *std::min_element(relays.begin(), relays.end(), [&](int a, int b) { return serial_time(a) < serial_time(b); });
}

/// Two copies, the second after the first, or chunk after chunk; switching from one to the other costs a little more.
PlannedTransfer ProblemBuilder::add_relay(const Transfer& transfer) {
  const TransportModel& model = peer_model(platform_->transports(), transfer.by, transfer.read);
  const bool pulled = transfer.read.value_or(false);
  PlannedTransfer plan{"relay", "relay"};
  plan.via = choose_relay(transfer);
  const double slow_in = slowness(*platform_, transfer.source, plan.via);
  const double slow_out = slowness(*platform_, plan.via, transfer.target);
  const Resolved extra = times(platform_->transports().handover(), slowness(*platform_, plan.via, plan.via));
  enter(plan, extra);
  const auto& in = platform_->peer_route(transfer.source, plan.via)->links;
  const auto& out = platform_->peer_route(plan.via, transfer.target)->links;
  std::vector<int> way = in;
  way.insert(way.end(), out.begin(), out.end());
  add_latency(plan, model, slow_in + slow_out, way);
  plan.latency_s += extra.value;
  const Mover first{transfer.by, pulled, {out_queue(transfer.source)}, slow_in};
  const Mover second{transfer.by, pulled, {out_queue(plan.via)}, slow_out};
  if (transfer.chunk_B > 0 && transfer.bytes > kMostChunks * transfer.chunk_B)
    throw InputError("chunk_B: a relayed copy is sent in at most 65536 chunks");
  const double chunk = transfer.chunk_B > 0 ? std::min(transfer.chunk_B, transfer.bytes) : transfer.bytes;
  int before = -1;
  for (double sent = 0; sent < transfer.bytes; sent += chunk) {
    const double bytes = std::min(chunk, transfer.bytes - sent);
    const auto follow = [&](const std::vector<int>& links, const Mover& mover, bool single, int after) {
      const auto begin = plan.activities.size();
      const int last = add_copy(plan, links, bytes, model, mover, single);
      if (after >= 0) problem_.activities[at(plan.activities[begin])].after.push_back(after);
      return last;
    };
    before = follow(in, first, transfer.single && sent == 0, before);
    Activity handover;  // the second engine is free meanwhile
    handover.delay_s = extra.value;
    handover.after = {before};
    plan.activities.push_back(add_activity(std::move(handover)));
    plan.main_activity = follow(out, second, false, plan.activities.back());
  }
  plan.links = std::move(way);
  return plan;
}

/// A chunk goes up into host memory; from then on the next chunk's way up and this one's way down flow at once;
/// the last chunk goes down alone. Up to one chunk nothing overlaps.
PlannedTransfer ProblemBuilder::add_staged(const Transfer& transfer) {
  const TransportModel& model = platform_->transports().get("staged");
  const Regime& regime = model.regime(transfer.bytes);
  const StagedRoute route = staged_route(*platform_, transfer.source, transfer.target);
  const int out = out_queue(transfer.source), in = in_queue(transfer.target);
  PlannedTransfer plan{"staged", "staged"};
  plan.chosen = transfer.by == MoveBy::kSm || transfer.read;
  const double slow = slowness(*platform_, transfer.source, transfer.target);
  enter(plan, times(regime.startup, slow));
  std::vector<int> both = route.up;
  both.insert(both.end(), route.down.begin(), route.down.end());
  add_latency(plan, model, slow, both);
  double delay = slow * regime.startup.value;
  if (transfer.single) delay += start_extra(plan, model, {MoveBy::kDma, false, {out}, slow});
  double cap = regime.rate_cap ? regime.rate_cap->value / slow : kInfinity;
  enter_rate(plan, regime, transfer.bytes, slow, lone_rate(both));
  const Resolved& chunk = platform_->transports().staging_chunk();
  Waits waits = waits_of(transfer, model, slow);
  if (!transfer.single) waits.before = 0;  // the copies of a queue do not start together
  waits.chunk_B = chunk.value;
  const auto [delay_s, cap_Bps] = with_waits(plan, waits, transfer.bytes, lone_rate(both), {delay, cap});
  delay = delay_s;
  cap = cap_Bps;
  if (regime.flat) {
    delay = std::max(0.0, delay - transfer.bytes / std::min(lone_rate(both), cap));
    plan.main_activity = add_leg(plan, both, transfer.bytes, delay, cap, {transfer.by, false, {out, in}, 1, true});
    return plan;
  }
  plan.used.push_back(chunk);
  const double head = std::min(transfer.bytes, chunk.value);
  int previous = add_leg(plan, route.up, head, delay, kInfinity, {transfer.by, false, {out}, 1, true});
  plan.main_activity = previous;
  const auto follow = [&](const std::vector<int>& links, double bytes, double most_Bps, std::vector<int> queues) {
    const int next = add_leg(plan, links, bytes, 0, most_Bps, {transfer.by, false, std::move(queues), 1, true});
    problem_.activities[at(next)].after = {previous};
    previous = next;
    return next;
  };
  if (transfer.bytes > head) plan.main_activity = follow(both, transfer.bytes - head, cap, {out, in});
  follow(route.down, head, kInfinity, {in});
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
  const TransportModel& model =
      platform_->transports().get(std::string(up ? "d2h" : "h2d") + (transfer.pageable            ? "_pageable"
                                                                     : transfer.by == MoveBy::kSm ? "_sm"
                                                                                                  : ""));
  PlannedTransfer plan{"host", model.name};
  const double slow = slowness(*platform_, gpu, gpu);
  add_latency(plan, model, slow, links);
  Mover mover{transfer.by, false, {up ? out_queue(gpu) : in_queue(gpu)}, slow, true};
  if (!transfer.pageable && (transfer.by == MoveBy::kSm || transfer.bytes > kInCommand_B))
    mover.waits = waits_of(transfer, platform_->transports().get(transfer.by == MoveBy::kSm ? "h2d_sm" : "h2d"), slow);
  plan.main_activity = add_copy(plan, links, transfer.bytes, model, mover, transfer.single);
  double& most_Bps = problem_.activities[at(plan.main_activity)].rate_cap_Bps;
  if (to_far_memory(*platform_, links)) most_Bps = std::min(most_Bps, lone_rate(links) / kFarMemory);
  return plan;
}

PlannedTransfer ProblemBuilder::add(const Transfer& transfer) {
  if (!is_gpu(*platform_, transfer.source) && !is_gpu(*platform_, transfer.target))
    throw InputError("a copy needs a GPU at one end: " + name_of(*platform_, transfer.source) + " and " +
                     name_of(*platform_, transfer.target) + " are none");
  const std::string natural = runtime_transport(*platform_, transfer.source, transfer.target);
  const std::string transport =
      transfer.transport.empty() ? (transfer.via >= 0 ? "relay" : natural) : transfer.transport;
  struct Kind {
    std::string_view name;
    PlannedTransfer (ProblemBuilder::*add)(const Transfer&);
    bool fixed = false;   // the only one of its pairs of devices, else of two GPUs
    bool relays = false;  // in chunks, through another GPU
    bool copies_host = false;
  };
  static constexpr std::array<Kind, 5> kKinds = {{{"local", &ProblemBuilder::add_local, true},
                                                  {"host", &ProblemBuilder::add_host, true, false, true},
                                                  {"peer", &ProblemBuilder::add_peer},
                                                  {"relay", &ProblemBuilder::add_relay, false, true},
                                                  {"staged", &ProblemBuilder::add_staged}}};
  const auto find = [](const std::string& name) {
    return std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.name == name; });
  };
  const auto kind = find(transport);
  const bool fixed = find(natural)->fixed;
  if (transport != natural && (fixed || (kind != kKinds.end() && kind->fixed)))
    throw InputError("transport '" + transport + "' cannot join " + name_of(*platform_, transfer.source) + " and " +
                     name_of(*platform_, transfer.target) + ": " +
                     (fixed ? "only " + natural + " can" : "one of peer, relay, staged"));
  if (kind == kKinds.end())
    throw InputError("unknown transport '" + transport + "': one of local, peer, relay, staged, host");
  if (transfer.chunk_B > 0 && !kind->relays) throw InputError("chunk_B: only transport relay sends in chunks");
  if (transfer.pageable && !kind->copies_host) throw InputError("pageable: only host copies know pageable memory");
  if (transfer.via >= 0 && !kind->relays) throw InputError("via: only transport relay goes through another GPU");
  if (transfer.read && kind->fixed) throw InputError("direction: only copies between two GPUs are read or written");
  PlannedTransfer plan = (this->*kind->add)(transfer);
  plan.bidirectional = transfer.bidirectional;
  return plan;
}

}  // namespace linkcast::activities
