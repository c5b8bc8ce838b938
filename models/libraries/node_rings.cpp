#include "models/libraries/node_rings.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "sim/base/input_error.hpp"

namespace linkcast {
namespace {

/// The ring, entered at `head`; it leaves the node instead of closing.
struct Entered {
  Channel ring;
  std::optional<Hop> closing{};
};
Entered entered_at(Channel ring, int head) {
  const auto first = std::find(ring.order.begin(), ring.order.end(), head) - ring.order.begin();
  std::rotate(ring.order.begin(), ring.order.begin() + first, ring.order.end());
  if (!ring.hops.empty()) {
    std::rotate(ring.hops.begin(), ring.hops.begin() + first, ring.hops.end());
    const Hop closing = ring.hops.back();
    ring.hops.pop_back();
    return {std::move(ring), closing};
  }
  return {std::move(ring)};
}

}  // namespace

void check_nodes(const Cluster& cluster, const std::vector<int>& gpus, int nodes) {
  if (gpus.empty()) throw InputError("gpus: at least one a node");
  if (nodes < 2 || nodes > cluster.nodes())
    throw InputError("nodes: the fabric of " + cluster.node().topology().name + " joins 2 to " +
                     std::to_string(cluster.nodes()));
}

NicWay nic_way(const Cluster& cluster, int nic) { return {nic, {}, !cluster.node().topology().gpudirect_rdma}; }

std::map<int, int> nic_heads(const Cluster& cluster, const std::vector<int>& gpus) {
  std::map<int, int> first;
  for (const int gpu : gpus) first.try_emplace(cluster.nic_of(gpu), gpu);
  return first;
}

std::vector<Channel> headed_rings(const Cluster& cluster, const std::vector<Channel>& found,
                                  const std::map<int, int>& entries, const HeadedRings& how) {
  std::vector<Channel> rings;
  std::vector<int> uses(found.size(), 0);
  std::set<int> seconds;
  const auto add = [&](int nic, int head) {
    std::size_t best = 0;
    const auto cost = [&](std::size_t i) {
      const Channel ring = entered_at(found[i], head).ring;
      const int second = cluster.nic_of(ring.order[ring.order.size() > 1 ? 1 : 0]);
      return std::make_pair(seconds.count(second) > 0 || (second == nic && entries.size() > 1), uses[i]);
    };
    for (std::size_t i = 1; i < found.size(); ++i)
      if (cost(i) < cost(best)) best = i;
    ++uses[best];
    auto [ring, closing] = entered_at(found[best], head);
    ring.blocks = 2;  // channels are duplicated in the end, as on one node
    ring.in = nic_way(cluster, nic);
    ring.out = nic_way(cluster, cluster.nic_of(ring.order.back()));
    if (how.by_entry && closing && closing->kind == HopKind::kPeer) {
      ring.out = ring.in;
      ring.out.handover = closing;
    }
    seconds.insert(cluster.nic_of(ring.order[ring.order.size() > 1 ? 1 : 0]));
    rings.push_back(std::move(ring));
  };
  for (int turn = 0; turn < how.of_each; ++turn) {
    seconds.clear();
    for (const auto& [nic, head] : entries) add(nic, head);
  }
  return rings;
}

BytesPerSecond nic_bandwidth(const Cluster& cluster, int nic) {
  std::vector<int> way;
  cluster.fabric().minimal_way(cluster.endpoint(0, nic), cluster.endpoint(1, nic), 0, way);
  const FabricLink port = cluster.fabric().link(way.front());
  const FabricLinkClass& host = cluster.fabric().classes()[static_cast<std::size_t>(port.link_class)];
  const auto& reported = cluster.node().topology().reported_rates;
  const auto known = reported.find(host.name);
  return known != reported.end() ? known->second : host.bandwidth;
}

}  // namespace linkcast
