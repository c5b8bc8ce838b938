#include "sim/plan/switch_pairs.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/base/limits.hpp"

namespace linkcast::congestion {
namespace {

/// So many pairs of switches are too many for ways of their own. source: ours, above those of any machine described
/// here
constexpr std::size_t kMany = 600000;

}  // namespace

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
    if (fresh) {
      ends_.push_back({endpoint, endpoint});
      vertices_.push_back(vertex);
    }
    ends_[static_cast<std::size_t>(entry->second)].last = endpoint;
    switch_of_.push_back(entry->second);
    port_.push_back(way.front());
  }
  return true;
}

/// Looks at two pairs of endpoints of the two switches: their ways must be the same ones, which some fabrics promise.
void SwitchPairs::look_at(const Ends& from, const Ends& to) {
  const bool same = &from == &to, several = from.first != from.last || to.first != to.last;
  if (same && !several) return;
  whole_.clear();
  cluster_->fabric().minimal_way(from.first, same ? to.last : to.first, 0, whole_);
  farthest_s_ = std::max(farthest_s_, fabric_latency(cluster_->fabric(), whole_).si);
  if (cluster_->fabric().ways_of_switches()) return;
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
Detours SwitchPairs::settle(const Traffic& traffic, const LinkOrbits& orbits) const {
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
  const Detours settled = switch_detours(cluster_->fabric(), busy_s, demands, orbits);
  for (std::size_t i = 0; i < pairs.size(); ++i) by_pair[pairs[i]] = settled.shares[i];
  return {std::move(by_pair), settled.choices};
}

void SwitchPairs::each_pair(const Traffic& traffic, const TakePair& take) const { each_pair(traffic, {}, take); }

void SwitchPairs::each_pair(const Traffic& traffic, const LinkOrbits& orbits, const TakePair& take) const {
  const Detours settled = settle(traffic, orbits);
  std::vector<WeightedLink> way;
  for (std::size_t pair = 0; pair < traffic.between.size(); ++pair) {
    work::look();
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

std::vector<std::size_t> SwitchPairs::turned() const {
  std::unordered_map<int, std::size_t> number;
  for (std::size_t i = 0; i < vertices_.size(); ++i) number[vertices_[i]] = i;
  std::vector<std::size_t> next;
  for (const int vertex : vertices_) {
    const auto found = number.find(cluster_->fabric().turned_switch(vertex));
    if (found == number.end()) return {};
    next.push_back(found->second);
  }
  return next;
}

LinkOrbits SwitchPairs::orbits_of(const Traffic& traffic) const {
  const Fabric& fabric = cluster_->fabric();
  const std::size_t switches = ends_.size();
  if (switches * switches < kMany || fabric.turns() == 1 || !fabric.ways_of_switches()) return {};
  const std::vector<std::size_t> next = turned();
  if (next.empty()) return {};
  for (std::size_t from = 0; from < switches; ++from) {
    if (traffic.port_s[from] != traffic.port_s[next[from]]) return {};
    for (std::size_t to = 0; to < switches; ++to)
      if (traffic.between[from * switches + to] != traffic.between[next[from] * switches + next[to]]) return {};
  }
  LinkOrbits orbits{fabric.turns(), std::vector<int>(static_cast<std::size_t>(fabric.links()), -1)};
  const auto capacity = [&](int link) { return cluster_->capacity(cluster_->key_of_fabric_link(link)); };
  for (int first = 0; first < fabric.links(); ++first) {
    const FabricLink ends = fabric.link(first);
    if (std::min(ends.from, ends.to) < fabric.endpoints() || orbits.of_link[static_cast<std::size_t>(first)] >= 0)
      continue;
    orbits.sizes.push_back(0);
    for (int link = first; orbits.of_link[static_cast<std::size_t>(link)] < 0; link = fabric.turned_link(link)) {
      if (capacity(link) != capacity(first)) return {};
      orbits.of_link[static_cast<std::size_t>(link)] = static_cast<int>(orbits.sizes.size()) - 1;
      ++orbits.sizes.back();
    }
  }
  return orbits;
}

std::vector<double> SwitchPairs::link_bytes(const Traffic& traffic) const {
  const LinkOrbits orbits = orbits_of(traffic);
  if (orbits.turns > 1) return turned_link_bytes(traffic, orbits);
  std::vector<double> bytes(static_cast<std::size_t>(cluster_->fabric().links()), 0);
  each_pair(traffic, orbits, [&](int from, int to, const std::vector<WeightedLink>& links) {
    const double between =
        traffic.between[static_cast<std::size_t>(from) * ends_.size() + static_cast<std::size_t>(to)];
    for (const WeightedLink& passed : links) bytes[static_cast<std::size_t>(passed.link)] += passed.share * between;
  });
  return bytes;
}

/// From one switch of each orbit to all others, and each link's share of what its orbit gets.
std::vector<double> SwitchPairs::turned_link_bytes(const Traffic& traffic, const LinkOrbits& orbits) const {
  Traffic once = traffic;
  const std::vector<std::size_t> next = turned();
  std::vector<char> stands_for(ends_.size(), 0);  // by an earlier one
  for (std::size_t from = 0; from < ends_.size(); ++from) {
    if (stands_for[from] != 0)
      std::fill_n(once.between.begin() + static_cast<std::ptrdiff_t>(from * ends_.size()), ends_.size(), 0.0);
    else
      for (std::size_t other = next[from]; other != from; other = next[other]) stands_for[other] = 1;
  }
  std::vector<double> of_orbit(orbits.sizes.size(), 0);
  each_pair(once, orbits, [&](int from, int to, const std::vector<WeightedLink>& links) {
    const double between = once.between[static_cast<std::size_t>(from) * ends_.size() + static_cast<std::size_t>(to)];
    for (const WeightedLink& passed : links)
      of_orbit[static_cast<std::size_t>(orbits.of_link[static_cast<std::size_t>(passed.link)])] +=
          passed.share * between;
  });
  std::vector<double> bytes(orbits.of_link.size(), 0);
  for (std::size_t link = 0; link < bytes.size(); ++link) {
    if (orbits.of_link[link] < 0) continue;
    const auto orbit = static_cast<std::size_t>(orbits.of_link[link]);
    bytes[link] = of_orbit[orbit] * orbits.turns / orbits.sizes[orbit];
  }
  return bytes;
}

}  // namespace linkcast::congestion
