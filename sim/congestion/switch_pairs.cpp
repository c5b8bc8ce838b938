#include "sim/congestion/switch_pairs.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace linkcast::congestion {

SwitchPairs::SwitchPairs(const Cluster& cluster, const std::vector<int>& endpoints) : cluster_(&cluster) {
  if (cluster.routing() != FabricRouting::kAdaptive && cluster.routing() != FabricRouting::kValiant)
    irregular_ = "the fabric sends each pair of endpoints along one way of its own";
  else if (find_switches(endpoints))
    for (const Ends& from : ends_)
      for (const Ends& to : ends_) look_at(from, to);
}

/// The switch is where the first link of a way ends. A router that is an endpoint itself (torus) has none.
bool SwitchPairs::find_switches(const std::vector<int>& endpoints) {
  const Fabric& fabric = cluster_->fabric();
  std::unordered_map<int, int> number;
  std::vector<int> way;
  for (const int endpoint : endpoints) {
    way.clear();
    fabric.minimal_way(endpoint, endpoint == endpoints.front() ? endpoints.back() : endpoints.front(), 0, way);
    const int vertex = fabric.link(way.front()).to;
    if (vertex < fabric.endpoints()) {
      irregular_ = "endpoints of the fabric are joined directly";
      return false;
    }
    const auto [entry, fresh] = number.try_emplace(vertex, static_cast<int>(ends_.size()));
    if (fresh) ends_.push_back({endpoint, endpoint});
    ends_[static_cast<std::size_t>(entry->second)].last = endpoint;
    switch_of_.push_back(entry->second);
    port_.push_back(way.front());
  }
  return true;
}

/// Looks at two pairs of endpoints of the two switches: their ways must be the same ones.
void SwitchPairs::look_at(const Ends& from, const Ends& to) {
  const bool same = &from == &to, several = from.first != from.last || to.first != to.last;
  if (same && !several) return;
  farthest_s_ = std::max(farthest_s_, fabric_latency(cluster_->fabric(), from.first, same ? to.last : to.first).si);
  if (same && !inner_links(from.first, to.last).empty()) irregular_ = "ways below one switch leave it";
  if (!same && several && inner_links(from.first, to.first) != inner_links(from.last, to.last))
    irregular_ = "ways between two switches differ by endpoint";
}

std::vector<int> SwitchPairs::inner_links(int from, int to) {
  way_.clear();
  add_fabric_links(cluster_->fabric(), cluster_->routing(), from, to, way_);
  std::vector<int> inner;
  for (const WeightedLink& passed : way_)
    if (passed.link != way_.front().link && passed.link != way_.back().link) inner.push_back(passed.link);
  std::sort(inner.begin(), inner.end());
  return inner;
}

/// One share of detours for each pair of switches.
Detours SwitchPairs::settle(const Traffic& traffic) const {
  std::vector<double> by_pair(traffic.between.size(), 0);
  if (cluster_->routing() != FabricRouting::kAdaptive) return {by_pair};
  std::vector<SwitchDemand> demands;
  std::vector<std::size_t> pairs;
  for (std::size_t pair = 0; pair < by_pair.size(); ++pair) {
    const std::size_t from = pair / ends_.size(), to = pair % ends_.size();
    if (from == to || traffic.between[pair] <= 0) continue;
    demands.push_back({ends_[from].first, ends_[to].first, traffic.between[pair],
                       std::max(traffic.port_s[from], traffic.port_s[to])});
    pairs.push_back(pair);
  }
  const auto busy_s = [&](int link) { return 1 / cluster_->capacity(cluster_->key_of_fabric_link(link)); };
  const Detours settled = switch_detours(cluster_->fabric(), busy_s, demands);
  for (std::size_t i = 0; i < pairs.size(); ++i) by_pair[pairs[i]] = settled.shares[i];
  return {std::move(by_pair), settled.choices};
}

void SwitchPairs::each_pair(const Traffic& traffic, const TakePair& take) const {
  const Detours settled = settle(traffic);
  std::vector<WeightedLink> way;
  for (std::size_t pair = 0; pair < traffic.between.size(); ++pair) {
    const std::size_t from = pair / ends_.size(), to = pair % ends_.size();
    if (from == to || traffic.between[pair] <= 0) continue;
    way.clear();
    if (cluster_->routing() == FabricRouting::kAdaptive)
      add_adaptive_links(cluster_->fabric(), ends_[from].first, ends_[to].first,
                         {settled.shares[pair], settled.choices}, way);
    else
      add_fabric_links(cluster_->fabric(), cluster_->routing(), ends_[from].first, ends_[to].first, way);
    const int out = way.front().link, in = way.back().link;
    std::erase_if(way, [&](const WeightedLink& passed) { return passed.link == out || passed.link == in; });
    take(static_cast<int>(from), static_cast<int>(to), way);
  }
}

std::vector<double> SwitchPairs::link_bytes(const Traffic& traffic) const {
  std::vector<double> bytes(static_cast<std::size_t>(cluster_->fabric().links()), 0);
  each_pair(traffic, [&](int from, int to, const std::vector<WeightedLink>& links) {
    const double between =
        traffic.between[static_cast<std::size_t>(from) * ends_.size() + static_cast<std::size_t>(to)];
    for (const WeightedLink& passed : links) bytes[static_cast<std::size_t>(passed.link)] += passed.share * between;
  });
  return bytes;
}

}  // namespace linkcast::congestion
