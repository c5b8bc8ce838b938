#include "sim/forecast/alltoall_parts.hpp"

#include <map>

namespace linkcast {

AlltoallParts::AlltoallParts(const Cluster& cluster, const UniformTraffic& traffic)
    : cluster_(&cluster),
      traffic_(&traffic),
      members_(static_cast<int>(traffic.gpus.size())),
      constraints_(cluster.node().constraints().size()),
      per_node_(constraints_ + 2 * static_cast<std::size_t>(cluster.nics())),
      pairs_(cluster, endpoints(cluster, traffic)),
      ways_(message_ways(cluster, traffic.gpus, traffic.stored)) {
  if (!pairs_.irregular().empty()) return;
  for (std::size_t i = 0; i < traffic.gpus.size(); ++i) {
    const int nic = cluster.nic_of(traffic.gpus[i]), port = static_cast<int>(constraints_) + 2 * nic;
    ways_.out[i].uses.push_back({port, traffic.stored});
    ways_.in[i].uses.push_back({port + 1, traffic.stored});
  }
  find_kinds();
  pairs_.settle(cluster, traffic_of_switches());
}

SwitchPairs::Traffic AlltoallParts::traffic_of_switches() const {
  const auto switches = static_cast<std::size_t>(pairs_.switches());
  const double bytes = traffic_->bytes * traffic_->stored;
  std::vector<int> sharing(static_cast<std::size_t>(cluster_->nics()), 0);
  for (const int gpu : traffic_->gpus) ++sharing[static_cast<std::size_t>(cluster_->nic_of(gpu))];
  SwitchPairs::Traffic sums{std::vector<double>(switches * switches, 0), std::vector<double>(switches, 0)};
  for (std::size_t index = 0; index < inside(0, 0, 0); ++index) {
    const Message one = message(index);
    const auto from = static_cast<std::size_t>(kind(one.a).switches[static_cast<std::size_t>(one.i)]);
    const auto to = static_cast<std::size_t>(kind(one.b).switches[static_cast<std::size_t>(one.j)]);
    sums.between[from * switches + to] += count(one) * bytes;
  }
  for (const Kind& kind : kinds_)
    for (std::size_t i = 0; i < traffic_->gpus.size(); ++i) {
      double& port = sums.port[static_cast<std::size_t>(kind.switches[i])];
      const double here = static_cast<double>(sharing[static_cast<std::size_t>(cluster_->nic_of(traffic_->gpus[i]))]) *
                          members_ * (traffic_->nodes - 1) * bytes;
      port = port == 0 || port == here ? here : -1;
    }
  return sums;
}

std::vector<int> AlltoallParts::endpoints(const Cluster& cluster, const UniformTraffic& traffic) {
  std::vector<int> list;
  for (int node = 0; node < traffic.nodes; ++node)
    for (const int gpu : traffic.gpus) list.push_back(cluster.endpoint(node, cluster.nic_of(gpu)));
  return list;
}

void AlltoallParts::find_kinds() {
  std::map<std::vector<int>, std::size_t> number;
  for (int node = 0; node < traffic_->nodes; ++node) {
    std::vector<int> switches;
    for (int i = 0; i < members_; ++i)
      switches.push_back(pairs_.switch_of(static_cast<std::size_t>(node * members_ + i)));
    const auto [entry, fresh] = number.try_emplace(switches, kinds_.size());
    if (fresh) kinds_.push_back({node, 0, switches});
    ++kinds_[entry->second].count;
  }
}

std::size_t AlltoallParts::between(int a, int i, int b, int j) const {
  const auto n = static_cast<std::size_t>(members_);
  const std::size_t from = static_cast<std::size_t>(a) * n + static_cast<std::size_t>(i);
  return from * kinds_.size() * n + static_cast<std::size_t>(b) * n + static_cast<std::size_t>(j);
}

std::size_t AlltoallParts::inside(int a, int i, int j) const {
  const auto n = static_cast<std::size_t>(members_);
  const std::size_t ends = kinds_.size() * n;
  return ends * ends + (static_cast<std::size_t>(a) * n + static_cast<std::size_t>(i)) * n +
         static_cast<std::size_t>(j);
}

std::size_t AlltoallParts::message_count() const { return inside(kinds(), 0, 0); }

AlltoallParts::Message AlltoallParts::message(std::size_t index) const {
  const std::size_t first = inside(0, 0, 0);
  const bool within = index >= first;
  if (within) index -= first;
  const auto digit = [&](std::size_t base) {
    const std::size_t value = index % base;
    index /= base;
    return static_cast<int>(value);
  };
  const auto n = static_cast<std::size_t>(members_);
  Message message;
  message.inside = within;
  message.j = digit(n);
  if (!within) message.b = digit(kinds_.size());
  message.i = digit(n);
  message.a = digit(kinds_.size());
  if (within) message.b = message.a;
  return message;
}

double AlltoallParts::count(const Message& message) const {
  const double nodes = kind(message.a).count;
  if (message.inside) return message.i == message.j ? 0 : nodes;
  return nodes * peers(message.a, message.b);
}

std::size_t AlltoallParts::link_count() const { return of_fabric(static_cast<int>(pairs_.links().size())); }

int AlltoallParts::key(std::size_t link) const {
  if (link >= of_fabric(0)) return cluster_->key_of_fabric_link(pairs_.links()[link - of_fabric(0)]);
  const Kind& kind = kinds_[link / per_node_];
  const std::size_t part = link % per_node_;
  if (part < constraints_) return cluster_->key(kind.first, static_cast<int>(part));
  const int nic = static_cast<int>(part - constraints_) / 2;
  for (std::size_t i = 0; i < traffic_->gpus.size(); ++i) {
    if (cluster_->nic_of(traffic_->gpus[i]) != nic) continue;
    const std::size_t endpoint = static_cast<std::size_t>(kind.first) * traffic_->gpus.size() + i;
    const bool in = (part - constraints_) % 2 == 1;
    return cluster_->key_of_fabric_link(in ? pairs_.port_in(endpoint) : pairs_.port_out(endpoint));
  }
  return -1;  // a port that no member uses
}

double AlltoallParts::copies(std::size_t link) const {
  return link >= of_fabric(0) ? 1 : kinds_[link / per_node_].count;
}

}  // namespace linkcast
