#include "sim/machine/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "sim/machine/routing.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast {
namespace {

std::vector<int> devices_of(const Topology& topology, DeviceKind kind) {
  std::vector<int> found;
  for (std::size_t i = 0; i < topology.devices.size(); ++i)
    if (topology.devices[i].kind == kind) found.push_back(static_cast<int>(i));
  return found;
}

/// From a GPU to a NIC: any cable of the node, through switches and CPUs; through a GPU only where the NIC hangs on it.
RoutingRule nic_rule(const Topology& topology, int nic) {
  std::set<std::string> beside;  // GPUs that the NIC hangs on
  for (const Cable& cable : topology.cables)
    if (cable.a == nic || cable.b == nic)
      beside.insert(topology.devices[static_cast<std::size_t>(cable.a == nic ? cable.b : cable.a)].id);
  return {[](const Cable&) { return true; },
          [beside](const Device& device) {
            if (device.kind != DeviceKind::kGpu)
              return device.kind == DeviceKind::kPcieSwitch || device.kind == DeviceKind::kCpu;
            return beside.count(device.id) > 0;
          }};
}

// A fitted rate this much above a cable's is more than one cable. source: ours, above the error of a fitted rate
constexpr double kAboveOne = 1.1;

/// Highest goodput of a curve: at the end of each regime, and for ever larger messages in the last.
double attained_Bps(const TransportModel& curve) {
  constexpr double kFree = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const Regime& regime : curve.regimes) {
    if (!std::isfinite(regime.to_B)) {
      if (regime.rate_cap) most = std::max(most, regime.rate_cap->value);
      continue;
    }
    const Pace pace = curve.pace(regime.to_B, kFree);
    const double time_s = pace.delay_s + (std::isfinite(pace.cap_Bps) ? regime.to_B / pace.cap_Bps : 0);
    if (time_s > 0) most = std::max(most, regime.to_B / time_s);
  }
  return most > 0 ? most : kFree;
}

}  // namespace

Cluster::Cluster(const Platform& node)
    : node_(&node), nodes_(1), per_node_(static_cast<int>(node.constraints().size())) {}

Cluster::Cluster(const Platform& node, std::shared_ptr<const Fabric> fabric, FabricRouting routing,
                 const std::vector<std::string>& nics, int flows)
    : node_(&node),
      fabric_(std::move(fabric)),
      routing_(routing),
      flows_(flows),
      per_node_(static_cast<int>(node.constraints().size())) {
  for (const std::string& nic : nics) nics_.push_back(node.topology().find(nic).value());
  nodes_ = fabric_->endpoints() / this->nics();
  find_ways();
  find_nics();
  find_host_ways();
  find_wire_share();
  find_engine_rate();
  find_retry_rates();
}

Cluster Cluster::with_node(const Platform& node) const {
  Cluster other = *this;
  other.node_ = &node;
  return other;
}

int Cluster::nearest_nic(int device, std::vector<int>& users) const {
  int best = -1;
  std::size_t shortest = 0;
  for (int i = 0; i < nics(); ++i) {
    const auto way = ways_.find({device, i});
    if (way == ways_.end()) continue;
    const std::size_t length = way->second.size();
    const bool nearer = best < 0 || length < shortest;
    const bool freer =
        best >= 0 && length == shortest && users[static_cast<std::size_t>(i)] < users[static_cast<std::size_t>(best)];
    if (!nearer && !freer) continue;
    best = i;
    shortest = length;
  }
  if (best >= 0) ++users[static_cast<std::size_t>(best)];
  return best;
}

void Cluster::find_nics() {
  std::vector<int> users(nics_.size(), 0);
  for (int k = 0; k < node_->gpu_count(); ++k) {
    const int best = nearest_nic(node_->gpu(k), users);
    if (best < 0) throw InputError(fmt::format("gpu{} of {} has no way to a NIC", k, node_->topology().name));
    Route there{way_to_nic(node_->gpu(k), best)}, back;
    for (auto link = there.links.rbegin(); link != there.links.rend(); ++link) back.links.push_back(*link ^ 1);
    nic_of_.push_back(best);
    to_nic_.push_back(std::move(there));
    from_nic_.push_back(std::move(back));  // the same cables the other way
  }
}

void Cluster::find_host_ways() {
  std::vector<int> users(nics_.size(), 0);
  for (const int cpu : devices_of(node_->topology(), DeviceKind::kCpu)) {
    const int best = nearest_nic(cpu, users);
    if (best >= 0) host_ways_[cpu] = {way_to_nic(cpu, best), best};
  }
}

std::vector<std::string> Cluster::nic_ids() const {
  std::vector<std::string> ids;
  for (const int nic : nics_) ids.push_back(node_->topology().devices[static_cast<std::size_t>(nic)].id);
  return ids;
}

void Cluster::find_ways() {
  const Topology& topology = node_->topology();
  for (int i = 0; i < nics(); ++i) {
    const int nic = nics_[static_cast<std::size_t>(i)];
    const RouteGraph graph(topology, node_->links(), nic_rule(topology, nic));
    for (const DeviceKind kind : {DeviceKind::kGpu, DeviceKind::kCpu})
      for (const int device : devices_of(topology, kind))
        if (auto route = RoutesFrom(graph, device).to(nic)) ways_[{device, i}] = std::move(route->links);
  }
}

const std::vector<int>& Cluster::way_to_nic(int device, int nic) const {
  const auto it = ways_.find({device, nic});
  if (it == ways_.end())
    throw InputError(
        fmt::format("{} has no way to NIC {}", node_->topology().devices[static_cast<std::size_t>(device)].id, nic));
  return it->second;
}

int Cluster::nics_for(double measured_Bps) const {
  if (!std::isfinite(measured_Bps) || !std::isfinite(port_Bps_)) return 1;
  return std::clamp(static_cast<int>(std::ceil(measured_Bps / (kAboveOne * port_Bps_))), 1, nics());
}

const std::pair<std::vector<int>, int>& Cluster::host_way(int cpu) const {
  const auto it = host_ways_.find(cpu);
  if (it == host_ways_.end())
    throw InputError(node_->topology().devices[static_cast<std::size_t>(cpu)].id + " has no way to a NIC");
  return it->second;
}

void Cluster::find_wire_share() {
  if (fabric_->endpoints() < 2) return;
  std::vector<int> way;
  fabric_->minimal_way(0, 1, 0, way);
  port_Bps_ = fabric_->classes()[static_cast<std::size_t>(fabric_->link(way.front()).link_class)].bandwidth.si;
  nearest_ = fabric_latency(*fabric_, 0, 1);
  const int distance = fabric_->distance(0, 1);
  for (int other = 2; distance > 0 && other < fabric_->endpoints(); ++other)  // 1 need not be the nearest: rails
    if (fabric_->distance(0, other) < distance) {
      nearest_ = fabric_latency(*fabric_, 0, other);
      break;
    }
  const std::string& between_switches = fabric_->classes().back().cable;
  latency_scale_ = resolve(node_->calibration(), key::cable_latency_scale(between_switches), 1).value;
  double most = 0, striped = 0;
  for (const char* name : {"mpi_network", "gpudirect_rdma", "mpi_network_host"})
    if (const TransportModel* curve = node_->transports().message(name)) {
      const double attained = attained_Bps(*curve);
      double& seen = attained <= port_Bps_ ? most : striped;
      const double one_Bps = std::isfinite(attained) ? attained / nics_for(attained) : 0;
      if (one_Bps > std::max(most, striped))
        wire_error_ = curve->regimes.back().rate_cap ? curve->regimes.back().rate_cap->rel_error : 0;
      seen = std::max(seen, one_Bps);
    }
  measured_ = most > 0;
  if (!measured_) wire_error_ = kUnmeasuredError;
  if (!measured_ && !has_engine(0)) wire_share_ = kUnmeasuredShare;
  // Several NICs together need not fill each of them: they only show that one attains at least that much.
  if (measured_) wire_share_ = std::min(1.0, std::max(most, striped) / port_Bps_);
}

bool Cluster::has_engine(int endpoint) const {
  return node_->topology().devices[static_cast<std::size_t>(nic_device(endpoint % nics()))].engine.has_value();
}

double Cluster::engine_start_s(int endpoint) const {
  const auto& engine = node_->topology().devices[static_cast<std::size_t>(nic_device(endpoint % nics()))].engine;
  return engine ? engine->transmit_start.si : 0;
}

/// What long messages of GPU memory were measured to have, else what the card reads of it.
void Cluster::find_engine_rate() {
  for (const int nic : nics_)
    if (const auto& engine = node_->topology().devices[static_cast<std::size_t>(nic)].engine)
      engine_Bps_ = engine->steady_read().si * node_->topology().devices[static_cast<std::size_t>(nic)].slow;
  for (const char* name : {"mpi_network", "gpudirect_rdma"}) {
    const TransportModel* curve = node_->transports().message(name);
    if (curve == nullptr || !curve->regimes.back().rate_cap) continue;
    engine_Bps_ = curve->regimes.back().rate_cap->value;
    return;
  }
}

void Cluster::find_retry_rates() {
  for (const FabricLinkClass& one : fabric_->classes())
    retry_rates_.push_back(resolve(node_->calibration(), key::cable_retry_rate(one.cable), 0).value);
}

double Cluster::resend_s(const std::vector<int>& keys) const {
  double sum = 0;
  for (const int key : keys) {
    if (key < nodes_ * per_node_) {
      sum += node_->resend_s(key % per_node_);
      continue;
    }
    const auto of = static_cast<std::size_t>(fabric_->link(key - nodes_ * per_node_).link_class);
    sum += linkcast::resend_s(retry_rates_[of], fabric_->classes()[of].latency.si);
  }
  return sum;
}

std::string Cluster::id(int key) const {
  if (fabric_ && key >= first_engine_key()) {
    const int engine = key - first_engine_key();
    return fabric_->vertex_name(engine / 2) + (engine % 2 == 0 ? " sends" : " receives");
  }
  if (key < nodes_ * per_node_)
    return fmt::format("node{}/{}", key / per_node_,
                       node_->constraints()[static_cast<std::size_t>(key % per_node_)].id);
  const FabricLink link = fabric_->link(key - nodes_ * per_node_);
  return fabric_->vertex_name(link.from) + "->" + fabric_->vertex_name(link.to);
}

double Cluster::slow_at(int vertex) const {
  if (vertex >= fabric_->endpoints()) return 1;
  return node_->topology().devices[static_cast<std::size_t>(nic_device(vertex % nics()))].slow;
}

double Cluster::capacity(int key) const {
  if (key < nodes_ * per_node_) return node_->constraints()[static_cast<std::size_t>(key % per_node_)].capacity.value;
  if (key >= first_engine_key()) return engine_Bps_ / slow_at((key - first_engine_key()) / 2);
  const FabricLink link = fabric_->link(key - nodes_ * per_node_);
  const auto of = static_cast<std::size_t>(link.link_class);
  const double slow = std::max(slow_at(link.from), slow_at(link.to));
  return fabric_->classes()[of].bandwidth.si * wire_share_ * (1 - retry_rates_[of]) / slow;
}

double Cluster::rel_error(int key) const {
  if (key >= nodes_ * per_node_) return wire_error_;
  return node_->constraints()[static_cast<std::size_t>(key % per_node_)].capacity.rel_error;
}

bool Cluster::calibrated(int key) const {
  if (key >= nodes_ * per_node_) return measured_;
  return node_->constraints()[static_cast<std::size_t>(key % per_node_)].capacity.calibrated;
}

}  // namespace linkcast
