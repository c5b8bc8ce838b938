#include "sim/plan/cluster_message.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/routing.hpp"
#include "sim/plan/channel_flows.hpp"
#include "sim/plan/inside_path.hpp"

namespace linkcast::activities {
namespace {

DeviceKind kind_of(const Platform& node, int device) { return node.topology().devices[at(device)].kind; }
bool is_cpu(const Platform& node, int device) { return kind_of(node, device) == DeviceKind::kCpu; }

/// Where a kind of message passes host memory on its way between GPUs, or begins in it.
struct HostEnds {
  bool from = false, to = false;
  bool turns = false;  ///< by copies that processes make, see staged_in_turn()
  bool hosts = false;  ///< between hosts
};

HostEnds host_ends(const std::string& transport) {
  static const std::map<std::string_view, HostEnds> ends = {{"pinned", {true, true, true}},
                                                            {"pinned_source", {true, false, true}},
                                                            {"unpinned", {true, true}},
                                                            {"unpinned_gpudirect", {true, true}},
                                                            {"mpi_network_host", {.hosts = true}}};
  const auto found = ends.find(transport);
  return found == ends.end() ? HostEnds{} : found->second;
}
bool through_host(const std::string& transport) {
  const HostEnds ends = host_ends(transport);
  return ends.from && ends.to;
}

// What one process copies to another through memory of the host both are on, bytes/s. source: assumed where it was
// not measured; Summit's Spectrum MPI has 15.4 GB/s on a socket and 7.1 GB/s across (models/params/summit.json)
constexpr double kHostCopy_Bps = 10e9;

bool between_hosts(const Platform& node, const Message& message) {
  return is_cpu(node, message.from.device) && is_cpu(node, message.to.device);
}

/// The curve of a message, and if it was never measured those that are nearest to it, best first.
std::vector<const char*> curves_of(const Platform& node, const Message& message) {
  const bool host = between_hosts(node, message);
  if (message.from.node != message.to.node) {
    if (host) return {"mpi_network_host"};
    return {"mpi_network", "gpudirect_rdma", "pinned_gpudirect", "pinned"};
  }
  const auto socket = [&](int device) { return is_cpu(node, device) ? device : node.socket_of(device); };
  const bool same = socket(message.from.device) == socket(message.to.device);
  if (host) {
    if (same) return {"mpi_socket_host", "mpi_node_host"};
    return {"mpi_node_host", "mpi_socket_host"};
  }
  if (same) return {"mpi_socket", "mpi_node"};
  return {"mpi_node", "mpi_socket"};
}

/// Inside a node where no message of this size was measured. Of GPUs: see inside_path(), and as fast as the links
/// allow. Of hosts: the start-up of one between nodes, else of a copy; the bytes as fast as one process copies.
InsidePath stand_in(const Platform& node, const Message& message) {
  const bool host = between_hosts(node, message);
  if (kind_of(node, message.from.device) == DeviceKind::kGpu && kind_of(node, message.to.device) == DeviceKind::kGpu)
    return inside_path(node, message.from.device, message.to.device);
  const TransportModel* network = node.transports().message(host ? "mpi_network_host" : "mpi_network");
  TransportModel model{host ? "mpi_socket_host" : "mpi_socket", {}};
  Regime regime{kInfinity, {}, false, std::nullopt};
  if (message.inside.cap_Bps > 0) {
    regime.startup = {message.inside.delay_s, 1, false, "assumed"};
    regime.rate_cap = Resolved{message.inside.cap_Bps, 1, false, "assumed"};
    model.regimes.push_back(regime);
    return {model};
  }
  regime.startup = (network && node.transports().network_measured() ? *network : node.transports().get("peer"))
                       .regimes.front()
                       .startup;
  regime.startup.calibrated = false;
  if (host) regime.rate_cap = Resolved{kHostCopy_Bps, 1, false, "assumed"};
  model.regimes.push_back(regime);
  return {model};
}

/// @returns nullptr if none was measured
const TransportModel* measured_curve(const Platform& node, const Message& message) {
  if (!message.transport.empty()) return node.transports().message(message.transport);
  for (const char* name : curves_of(node, message))
    if (const TransportModel* curve = node.transports().message(name)) return curve;
  return nullptr;
}

/// Of a curve that has none at a size: the highest of its other sizes.
double highest_Bps(const TransportModel& curve) {
  double most = 0;
  for (const Regime& regime : curve.regimes)
    if (regime.rate_cap) most = std::max(most, regime.rate_cap->value);
  return most > 0 ? most : kHostCopy_Bps;
}

/// Of a curve that ends, as where eager messages alone were measured: what is larger goes the other way, and what the
/// other way brings sooner, as libraries choose by what they expect. source: UCX, selection of protocols
bool goes_by_steps(const TransportModel& curve, const TransportModel& steps, double bytes) {
  if (curve.regimes.back().to_B == kInfinity) return false;
  const Pace here = curve.pace(bytes, kInfinity), there = steps.pace(bytes, kInfinity);
  return bytes > curve.regimes.back().to_B || there.delay_s < here.delay_s + bytes / here.cap_Bps;
}

[[noreturn]] void refuse(const Platform& node, const Message& message) {
  std::vector<std::string> measured;
  for (const std::string& name : Transports::message_names())
    if (node.transports().message(name) && node.transports().network_measured()) measured.push_back(name);
  throw InputError("transport: no message of the kind " +
                   (message.transport.empty() ? curves_of(node, message).front() : message.transport) +
                   " was measured on " + node.topology().name +
                   (measured.empty() ? ", nor of any other" : ": measured were " + joined(measured)));
}

/// Links of a device's way out to the NIC nearest to it, and that NIC.
std::pair<std::vector<int>, int> way_out(const Cluster& cluster, int device, bool over_host) {
  const Platform& node = cluster.node();
  if (is_cpu(node, device)) return cluster.host_way(device);
  const auto& gpus = node.topology().gpus();
  const int gpu = static_cast<int>(std::find(gpus.begin(), gpus.end(), device) - gpus.begin());
  if (!over_host) return {cluster.to_nic(gpu).links, cluster.nic_of(gpu)};
  auto [onward, nic] = cluster.host_way(node.socket_of(device));
  std::vector<int> links = node.to_host(device).links;
  links.insert(links.end(), onward.begin(), onward.end());
  return {links, nic};
}

/// The same to `count` NICs, the nearest first.
std::vector<std::pair<std::vector<int>, int>> ways_out(const Cluster& cluster, int device, bool over_host, int count) {
  const Platform& node = cluster.node();
  std::vector<std::pair<std::vector<int>, int>> ways{way_out(cluster, device, over_host)};
  const bool staged = over_host && !is_cpu(node, device);
  for (int nic = 0; static_cast<int>(ways.size()) < count; ++nic) {
    if (nic == ways.front().second) continue;
    std::vector<int> links = staged ? node.to_host(device).links : std::vector<int>{};
    const std::vector<int>& onward = cluster.way_to_nic(staged ? node.socket_of(device) : device, nic);
    links.insert(links.end(), onward.begin(), onward.end());
    ways.emplace_back(std::move(links), nic);
  }
  return ways;
}

std::vector<int> reversed(std::vector<int> links) {
  std::reverse(links.begin(), links.end());
  for (int& link : links) link ^= 1;
  return links;
}

void note(PlannedMessage& plan, const Cluster& cluster, int node, const std::vector<int>& links) {
  for (const int link : links) plan.links.push_back(cluster.key(node, link));
}

int nics_of(const Cluster& cluster, const Message& message, const Regime& regime) {
  const int asked = std::min(message.nics, cluster.nics());
  return regime.rate_cap ? std::max(asked, cluster.nics_for(regime.rate_cap->value)) : asked;
}

/// What the message crosses in the nodes and between them, a part of its bytes over each of `nics` NICs.
void pass_network(ClusterProblem& problem, const Message& message, int nics, PlannedMessage& plan) {
  const Cluster& cluster = problem.cluster();
  const bool over_host = through_host(plan.transport);
  plan.nics = message.way.empty() ? nics : 1;
  const auto outs = ways_out(cluster, message.from.device, over_host, plan.nics);
  const auto ins = ways_out(cluster, message.to.device, over_host, plan.nics);
  for (int i = 0; i < plan.nics; ++i) {
    const auto& [out, out_nic] = outs[at(i)];
    const auto& [into, in_nic] = ins[at(i)];
    problem.pass_node(message.from.node, out, MoveBy::kDma, 1.0 / plan.nics);
    const int from = cluster.endpoint(message.from.node, out_nic), to = cluster.endpoint(message.to.node, in_nic);
    plan.slow = std::max({plan.slow, cluster.slow_at(from), cluster.slow_at(to)});
    if (message.way.empty())
      problem.pass_fabric(from, to, 1.0 / plan.nics);
    else
      problem.pass_way(message.way);
    problem.pass_node(message.to.node, reversed(into), MoveBy::kDma, 1.0 / plan.nics);
  }
  const auto& [out, out_nic] = outs.front();  // of several ways, the first is named
  const auto& [into, in_nic] = ins.front();
  const int from = cluster.endpoint(message.from.node, out_nic), to = cluster.endpoint(message.to.node, in_nic);
  note(plan, cluster, message.from.node, out);
  std::vector<int> way = message.way;
  if (way.empty()) cluster.fabric().minimal_way(from, to, to % cluster.fabric().minimal_ways(from, to), way);
  for (const int link : way) plan.links.push_back(cluster.key_of_fabric_link(link));
  note(plan, cluster, message.to.node, reversed(into));
  plan.distance = cluster.fabric().distances()[at(cluster.fabric().distance(from, to))];
  plan.distance_s = cluster.beyond_nearest(fabric_latency(cluster.fabric(), way)).si;
}

/// A message that has another rate than an engine's long ones holds it for as much of the time.
/// @param rate_cap_Bps  with no NIC slow: engines are slowed by themselves
void hold_engines(ClusterProblem& problem, const Message& message, const PlannedMessage& plan, double rate_cap_Bps) {
  if (!message.shares || rate_cap_Bps == kInfinity) return;
  const Cluster& cluster = problem.cluster();
  const bool over_host = through_host(plan.transport);
  const auto outs = ways_out(cluster, message.from.device, over_host, plan.nics);
  const auto ins = ways_out(cluster, message.to.device, over_host, plan.nics);
  for (int i = 0; i < plan.nics; ++i) {
    const int from = cluster.endpoint(message.from.node, outs[at(i)].second);
    const int to = cluster.endpoint(message.to.node, ins[at(i)].second);
    if (cluster.has_engine(from) || cluster.has_engine(to))
      problem.pass_engines(from, to, cluster.engine_Bps() / rate_cap_Bps);
    problem.start_in_engine(from, start_weight(cluster, message, from, rate_cap_Bps));
  }
}

/// @returns most that a kernel gets there, bytes/s
double pass_inside(ClusterProblem& problem, const Message& message, bool by_kernel, PlannedMessage& plan) {
  const Platform& node = problem.cluster().node();
  const int from = message.from.device, to = message.to.device;
  std::vector<int> links, peers;
  if (is_cpu(node, from) || is_cpu(node, to)) {
    if (from != to && is_cpu(node, from) && is_cpu(node, to)) links = node.between_sockets(from, to).links;
  } else if (const auto& peer = node.peer_route(from, to)) {
    links = peers = peer->links;
  } else {
    const StagedRoute staged = staged_route(node, from, to);
    links = staged.up;
    links.insert(links.end(), staged.down.begin(), staged.down.end());
  }
  note(plan, problem.cluster(), message.from.node, links);
  if (!by_kernel) {
    problem.pass_node(message.from.node, links, MoveBy::kDma);
    return kInfinity;
  }
  problem.pass_constraints(message.from.node, kernel_uses(problem.in_node(), {links, peers}));
  return kernel_rate(node, links, false);
}

/// Whether processes of one node move the bytes by themselves, and no copy engine or kernel that they start.
/// @param measured  the curve was. One that ends is of eager messages
bool moved_by_processes(const Platform& node, const Message& message, const TransportModel& curve, bool measured) {
  if (between_hosts(node, message)) return true;
  return measured ? curve.regimes.back().to_B != kInfinity : curve.regime(message.bytes).rate_cap.has_value();
}

/// Bytes that a process copies itself inside a node, one message after the other: of host buffers the receiver reads
/// out of the sender's memory, of GPUs' the sender reads over PCIe, which is slower than writing.
/// source: Linux, process_vm_readv (cross memory attach), as Open MPI's vader and UCX's cma use it; UCX, gdr_copy
void hold_process(ClusterProblem& problem, const Message& message, double rate_Bps) {
  const Platform& node = problem.cluster().node();
  const ClusterEnd& copying = between_hosts(node, message) ? message.to : message.from;
  if (copying.process < 0 || rate_Bps == kInfinity) return;
  problem.pass_constraints(copying.node, {{node.process_of(copying.process), Platform::process_copy_Bps() / rate_Bps}});
}

/// A message of staged_in_turn(). The copy holds the process up, so that sending waits for all of it. Of a curve's
/// start-up that of a message between hosts belongs to the network, the rest to the copy out: paper 004, section V-C,
/// finds the cost of one cudaMemcpy in it.
class StagedLegs {
 public:
  StagedLegs(ClusterProblem& problem, const Message& message)
      : problem_(problem),
        message_(message),
        node_(problem.cluster().node()),
        staged_(node_.transports().message("pinned")),
        host_(*node_.transports().message("mpi_network_host")),
        into_gpu_(!host_ends(message.transport).to) {}

  PlannedMessage add(std::vector<int> after) {
    plan_.transport = message_.transport;
    if (!node_.transports().message(message_.transport))
      plan_.warning = "no message of the kind " + message_.transport + " was measured on " + node_.topology().name +
                      ": copies and messages of other kinds stand in, one after the other";
    if (!node_.transports().network_measured())
      plan_.warning = node_.transports().network_warning(node_.topology().name);
    copy(message_.from, true, std::move(after));
    cross({plan_.activity});
    if (!into_gpu_) copy(message_.to, false, {plan_.activity});
    return plan_;
  }

 private:
  void copy(const ClusterEnd& end, bool out, std::vector<int> after) {
    const Route& way = out ? node_.to_host(end.device) : node_.from_host(end.device);
    problem_.pass_node(end.node, way.links, MoveBy::kDma);
    problem_.pass_host_memory(end.node, way.links, message_.bytes);
    note(plan_, problem_.cluster(), end.node, way.links);
    Pace pace{0, kInfinity};
    double least_s = 0;
    if (!staged_) {
      const TransportModel& alone = node_.transports().get(out ? "d2h" : "h2d");
      pace = alone.pace(message_.bytes, problem_.lone_rate());
      least_s = alone.regimes.front().startup.value;
    } else if (out) {
      const Resolved &both = staged_->regimes.front().startup, &sent = host_.regimes.front().startup;
      pace.delay_s = least_s = std::max(0.0, both.value - sent.value);
      plan_.delay_error_s = both.rel_error * both.value;
    }
    pace.delay_s += out ? message_.wait_s : 0;
    std::vector<int> queues;
    if (message_.shares) queues = {queue_of_node(node_, end.node, out ? out_queue(end.device) : in_queue(end.device))};
    activity(pace, least_s, std::move(after), std::move(queues));
  }

  void cross(std::vector<int> after) {
    Message between = message_;
    between.from.device = node_.socket_of(message_.from.device);
    if (!into_gpu_) between.to.device = node_.socket_of(message_.to.device);
    const Resolved& start = host_.regimes.front().startup;
    const auto& cap = (into_gpu_ ? *node_.transports().message("gpudirect_rdma") : host_).regimes.back().rate_cap;
    pass_network(problem_, between, cap ? problem_.cluster().nics_for(cap->value) : 1, plan_);
    Pace pace = host_.pace(message_.bytes, problem_.lone_rate());
    if (into_gpu_) pace = {start.value, cap ? cap->value : kInfinity};
    if (cap) plan_.rate_error = cap->rel_error;
    pace.delay_s += plan_.distance_s;
    hold_engines(problem_, between, plan_, pace.cap_Bps);
    pace.cap_Bps /= plan_.slow;
    activity(pace, start.value + plan_.distance_s, std::move(after));
    plan_.network = plan_.activity;
  }

  void activity(const Pace& pace, double least_s, std::vector<int> after, std::vector<int> queues = {}) {
    Activity leg;
    const std::vector<int> crossed(plan_.links.begin() + told_, plan_.links.end());
    told_ = static_cast<std::ptrdiff_t>(plan_.links.size());
    const double resend_s = problem_.cluster().resend_s(crossed);
    leg.delay_s = pace.delay_s + resend_s;
    leg.work_B = message_.count * message_.bytes;
    leg.rate_cap_Bps = pace.cap_Bps;
    leg.after = std::move(after);
    leg.queues = std::move(queues);
    plan_.latency_s += least_s + resend_s;
    plan_.activity = problem_.add(std::move(leg));
  }

  ClusterProblem& problem_;
  const Message& message_;
  const Platform& node_;
  const TransportModel* staged_;  ///< nullptr: made of host copies and a message between hosts
  const TransportModel& host_;
  bool into_gpu_;  ///< written there by the network itself
  PlannedMessage plan_;
  std::ptrdiff_t told_ = 0;  ///< links of the plan that belong to legs before
};

}  // namespace

InsideTurn inside_turn(const Platform& node, const Message& message) {
  const TransportModel* measured = measured_curve(node, message);
  const InsidePath assumed = stand_in(node, message);
  // Where eager messages end was read off a window.
  if (measured && message.bytes > measured->regimes.back().to_B) measured = nullptr;
  const TransportModel& curve = measured ? *measured : assumed.model;
  const Regime& regime = curve.regime(message.bytes);
  InsideTurn turn{curve.name};
  turn.copied = !moved_by_processes(node, message, curve, measured != nullptr);
  turn.by_kernel = turn.copied && assumed.by_kernel;
  turn.rate_Bps = regime.rate_cap ? regime.rate_cap->value : highest_Bps(curve);
  turn.rate_error = regime.rate_cap ? regime.rate_cap->rel_error : 1;
  turn.measured = measured != nullptr;
  return turn;
}

int queue_of_node(const Platform& node, int number, int queue) {
  return 2 * static_cast<int>(node.topology().devices.size()) * number + queue;
}

std::pair<int, int> endpoints_of(const Cluster& cluster, const Message& message) {
  std::string transport = message.transport;
  if (!staged_in_turn(cluster.node(), transport)) {
    const TransportModel* curve = measured_curve(cluster.node(), message);
    if (!curve) refuse(cluster.node(), message);
    transport = curve->name;
  }
  const auto nic = [&](const ClusterEnd& end, bool over_host) {
    return cluster.endpoint(end.node, way_out(cluster, end.device, over_host).second);
  };
  return {nic(message.from, host_ends(transport).from), nic(message.to, host_ends(transport).to)};
}

double start_weight(const Cluster& cluster, const Message& message, int from_endpoint, double rate_Bps) {
  const HostEnds ends = host_ends(message.transport);
  const bool reads_gpu = !is_cpu(cluster.node(), message.from.device) && !ends.from && !ends.hosts;
  if (!reads_gpu || message.bytes <= 0 || !cluster.has_engine(from_endpoint)) return 0;
  const double busy_s = std::min(cluster.engine_start_s(from_endpoint), message.bytes / rate_Bps);
  return busy_s * cluster.capacity(cluster.key_of_engine(from_endpoint, false)) / message.bytes;
}

bool staged_in_turn(const Platform& node, const std::string& transport) {
  const Transports& known = node.transports();
  const TransportModel* staged = known.message("pinned");
  const HostEnds ends = host_ends(transport);
  if (!ends.turns) return false;
  if (!ends.to) return staged && staged_in_turn(node, "pinned") && known.message("gpudirect_rdma");
  if (!known.message("mpi_network_host")) return false;
  if (!staged) return known.measured("d2h") && known.measured("h2d");
  return std::none_of(staged->regimes.begin(), staged->regimes.end(), [](const Regime& r) { return r.rate_cap; });
}

PlannedMessage add_message(ClusterProblem& problem, const Message& message, std::vector<int> after) {
  const Platform& node = problem.cluster().node();
  if (message.from.node != message.to.node && staged_in_turn(node, message.transport))
    return StagedLegs(problem, message).add(std::move(after));
  const TransportModel* measured = measured_curve(node, message);
  if (!measured && (!message.transport.empty() || message.from.node != message.to.node)) refuse(node, message);
  const bool inside = message.from.node == message.to.node;
  const InsidePath assumed = inside ? stand_in(node, message) : InsidePath{};
  if (measured && inside && goes_by_steps(*measured, assumed.model, message.bytes)) measured = nullptr;
  const TransportModel& curve = measured ? *measured : assumed.model;
  PlannedMessage plan;
  plan.transport = curve.name;
  plan.stand_in = !measured;
  if (message.from.node != message.to.node) plan.warning = node.transports().network_warning(node.topology().name);
  const Regime& regime = curve.regime(message.bytes);
  double most_Bps = kInfinity;
  if (message.from.node != message.to.node)
    pass_network(problem, message, nics_of(problem.cluster(), message, regime), plan);
  else if (message.from.device != message.to.device)
    most_Bps = pass_inside(problem, message, !measured && assumed.by_kernel, plan);
  Pace pace = curve.pace(message.bytes, problem.lone_rate());
  if (inside && moved_by_processes(node, message, curve, measured != nullptr))
    hold_process(problem, message, pace.cap_Bps);
  pace.cap_Bps = std::min(pace.cap_Bps, most_Bps);
  const double resend_s = problem.cluster().resend_s(plan.links);
  plan.latency_s = curve.regimes.front().startup.value + plan.distance_s + resend_s;
  plan.delay_error_s = regime.startup.rel_error * regime.startup.value;
  if (regime.rate_cap) plan.rate_error = regime.rate_cap->rel_error;
  Activity activity;
  activity.delay_s = message.wait_s + pace.delay_s + plan.distance_s + resend_s;
  activity.work_B = message.count * message.bytes;
  activity.rate_cap_Bps = pace.cap_Bps / plan.slow;
  if (message.from.node != message.to.node) hold_engines(problem, message, plan, pace.cap_Bps);
  activity.after = std::move(after);
  plan.activity = plan.network = problem.add(std::move(activity));
  return plan;
}

}  // namespace linkcast::activities
