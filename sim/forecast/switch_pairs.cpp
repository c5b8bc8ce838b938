#include "sim/forecast/switch_pairs.hpp"

#include <algorithm>
#include <unordered_map>

namespace linkcast {
namespace {

// 12 bytes each with what the engine adds: 1.5 GiB. source: ours, a third of the 4 GiB that a forecast may take
constexpr std::size_t kMostCrossings = 200'000'000;

/// Links between the switches, of all ways, sorted; and the number of ways.
int inner_links(const Cluster& cluster, int from, int to, std::vector<WeightedLink>& way, std::vector<int>& inner) {
  way.clear();
  inner.clear();
  add_fabric_links(cluster.fabric(), cluster.routing(), from, to, way);
  int ways = 0;
  const int out = way.front().link;
  for (const WeightedLink& passed : way) ways += passed.link == out ? 1 : 0;
  const int in = way.back().link;
  for (const WeightedLink& passed : way)
    if (passed.link != out && passed.link != in) inner.push_back(passed.link);
  std::sort(inner.begin(), inner.end());
  return ways;
}

}  // namespace

SwitchPairs::SwitchPairs(const Cluster& cluster, const std::vector<int>& endpoints) {
  if (cluster.routing() != FabricRouting::kAdaptive && cluster.routing() != FabricRouting::kValiant) {
    irregular_ = "the fabric sends each pair of endpoints along one way of its own";
    return;
  }
  if (endpoints.size() > 1 && find_switches(cluster, endpoints)) find_ways(cluster);
}

/// The switch is where the first link of a way ends. A router that is an endpoint itself (torus) has none.
bool SwitchPairs::find_switches(const Cluster& cluster, const std::vector<int>& endpoints) {
  const Fabric& fabric = cluster.fabric();
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
    port_out_.push_back(way.front());
  }
  return true;
}

bool SwitchPairs::find_ways(const Cluster& cluster) {
  number_.assign(static_cast<std::size_t>(cluster.fabric().links()), -1);
  first_.push_back(0);
  for (const Ends& from : ends_)
    for (const Ends& to : ends_)
      if (!add_pair(cluster, from, to)) return false;
  return true;
}

/// Looks at two pairs of endpoints of the two switches: their ways must be the same ones.
bool SwitchPairs::add_pair(const Cluster& cluster, const Ends& from, const Ends& to) {
  inner_.clear();
  int ways = 1;
  const bool same = &from == &to;
  if (!same) ways = inner_links(cluster, from.first, to.first, way_, inner_);
  if (!same && (from.last != from.first || to.last != to.first)) {
    if (inner_links(cluster, from.last, to.last, way_, other_) != ways || other_ != inner_)
      irregular_ = "ways between two switches differ by endpoint";
  }
  if (same && from.first != from.last) {
    inner_links(cluster, from.first, from.last, way_, other_);
    if (!other_.empty()) irregular_ = "ways below one switch leave it";
  }
  if (!same || from.first != from.last)
    farthest_s_ = std::max(farthest_s_, fabric_latency(cluster.fabric(), from.first, same ? to.last : to.first).si);
  if (crossings_.size() > kMostCrossings) irregular_ = "the fabric has too many ways between its switches";
  for (std::size_t i = 0, next = 0; i < inner_.size(); i = next) {
    while (next < inner_.size() && inner_[next] == inner_[i]) ++next;
    int& number = number_[static_cast<std::size_t>(inner_[i])];
    if (number < 0) {
      number = static_cast<int>(links_.size());
      links_.push_back(inner_[i]);
    }
    crossings_.push_back({number, static_cast<int>(next - i)});
  }
  first_.push_back(crossings_.size());
  ways_.push_back(ways);
  return irregular_.empty();
}

SwitchPairs::Pair SwitchPairs::pair(int from, int to) const {
  const std::size_t index = static_cast<std::size_t>(from) * ends_.size() + static_cast<std::size_t>(to);
  return {crossings_.data() + first_[index], crossings_.data() + first_[index + 1], ways_[index]};
}

}  // namespace linkcast
