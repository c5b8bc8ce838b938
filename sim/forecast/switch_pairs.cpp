#include "sim/forecast/switch_pairs.hpp"

#include <algorithm>
#include <unordered_map>

namespace linkcast {
namespace {

// 12 bytes each with what the engine adds: 1.5 GiB. source: ours, a third of the 4 GiB that a forecast may take
constexpr std::size_t kMostCrossings = 200'000'000;

// Ways that settle() looks at 40 times: about a second, 100 MiB. source: ours
constexpr std::size_t kMostWays = 700'000;
constexpr double kHotter = 1 + 1e-9;  // source: ours, against rounding, as adaptive_routing.cpp

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
    if (fresh) {
      ends_.push_back({endpoint, endpoint});
      port_of_.push_back(way.front());
    }
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
  add_crossings(inner_, 1.0 / ways);
  first_.push_back(crossings_.size());
  return irregular_.empty();
}

int SwitchPairs::number_of(int link) {
  int& number = number_[static_cast<std::size_t>(link)];
  if (number < 0) {
    number = static_cast<int>(links_.size());
    links_.push_back(link);
  }
  return number;
}

/// @param inner  sorted: a link as often as ways cross it
void SwitchPairs::add_crossings(const std::vector<int>& inner, double share_of_one) {
  for (std::size_t i = 0, next = 0; i < inner.size(); i = next) {
    while (next < inner.size() && inner[next] == inner[i]) ++next;
    crossings_.push_back({number_of(inner[i]), static_cast<double>(next - i) * share_of_one});
  }
}

void SwitchPairs::settle(const Cluster& cluster, const Traffic& traffic) {
  if (cluster.routing() != FabricRouting::kAdaptive || !some_hot(cluster, traffic)) return;
  std::vector<Demand> demands;
  if (!demands_of(cluster, traffic, demands)) {
    minimal_only_ = true;
    return;
  }
  if (*std::min_element(traffic.port.begin(), traffic.port.end()) < 0) {
    irregular_ = "NICs of a switch serve different numbers of GPUs";
    return;
  }
  const std::unordered_map<int, double> ports = port_seconds(cluster, traffic);
  const auto busy_s = [&](int link) {
    const auto port = ports.find(link);
    return port != ports.end() ? port->second : 1 / cluster.capacity(cluster.key_of_fabric_link(link));
  };
  const std::vector<double> shares = detour_shares(cluster.fabric(), busy_s, demands);
  std::vector<double> by_pair(traffic.between.size(), 0);
  for (std::size_t pair = 0, demand = 0; pair < by_pair.size(); ++pair)
    if (traffic.between[pair] > 0 && pair / ends_.size() != pair % ends_.size()) by_pair[pair] = shares[demand++];
  take_detours(cluster, by_pair);
}

/// Some pair has a minimal way with a link that is busier than its ports, and a detour.
bool SwitchPairs::some_hot(const Cluster& cluster, const Traffic& traffic) const {
  std::vector<double> seconds(links_.size(), 0);
  const auto each = [&](const auto& visit) {
    for (std::size_t from = 0; from < ends_.size(); ++from)
      for (std::size_t to = 0; to < ends_.size(); ++to)
        if (traffic.between[from * ends_.size() + to] > 0) visit(from, to);
  };
  each([&](std::size_t from, std::size_t to) {
    const Pair ways = pair(static_cast<int>(from), static_cast<int>(to));
    for (const Crossing* one = ways.begin; one != ways.end; ++one)
      seconds[static_cast<std::size_t>(one->link)] +=
          one->share * traffic.between[from * ends_.size() + to] /
          cluster.capacity(cluster.key_of_fabric_link(links_[static_cast<std::size_t>(one->link)]));
  });
  bool hot = false;
  each([&](std::size_t from, std::size_t to) {
    const Pair ways = pair(static_cast<int>(from), static_cast<int>(to));
    if (hot || from == to || cluster.fabric().detours(ends_[from].first, ends_[to].first) == 0) return;
    const double port =
        std::max(traffic.port[from], traffic.port[to]) / cluster.capacity(cluster.key_of_fabric_link(port_of_[from]));
    for (const Crossing* one = ways.begin; one != ways.end; ++one)
      hot = hot || seconds[static_cast<std::size_t>(one->link)] > kHotter * port;
  });
  return hot;
}

bool SwitchPairs::demands_of(const Cluster& cluster, const Traffic& traffic, std::vector<Demand>& demands) const {
  const Fabric& fabric = cluster.fabric();
  std::size_t ways = 0;
  for (std::size_t from = 0; from < ends_.size(); ++from)
    for (std::size_t to = 0; to < ends_.size(); ++to) {
      const double bytes = traffic.between[from * ends_.size() + to];
      if (from == to || bytes <= 0) continue;
      const int a = ends_[from].first, b = ends_[to].first;
      ways += static_cast<std::size_t>(fabric.minimal_ways(a, b)) + detour_choices(fabric, a, b).size();
      if (ways > kMostWays) return false;
      demands.push_back({a, b, bytes});
    }
  return true;
}

/// One endpoint of each switch stands for all of them, and all bytes between switches seem to pass its port: seconds a
/// byte such that the port is as busy as it really is.
std::unordered_map<int, double> SwitchPairs::port_seconds(const Cluster& cluster, const Traffic& traffic) const {
  std::unordered_map<int, double> seconds;
  for (std::size_t here = 0; here < ends_.size(); ++here) {
    double out = 0, in = 0;
    for (std::size_t other = 0; other < ends_.size(); ++other) {
      if (other == here) continue;
      out += traffic.between[here * ends_.size() + other];
      in += traffic.between[other * ends_.size() + here];
    }
    const int port = port_of_[here];
    if (out > 0) seconds[port] = traffic.port[here] / out / cluster.capacity(cluster.key_of_fabric_link(port));
    if (in > 0) seconds[port ^ 1] = traffic.port[here] / in / cluster.capacity(cluster.key_of_fabric_link(port ^ 1));
  }
  return seconds;
}

void SwitchPairs::take_detours(const Cluster& cluster, const std::vector<double>& shares) {
  const std::vector<Crossing> minimal = std::move(crossings_);
  const std::vector<std::size_t> first = std::move(first_);
  crossings_.clear();
  first_.assign(1, 0);
  std::vector<int> way;
  for (std::size_t pair = 0; pair < shares.size(); ++pair) {
    for (std::size_t i = first[pair]; i < first[pair + 1]; ++i)
      if (shares[pair] < 1) crossings_.push_back({minimal[i].link, minimal[i].share * (1 - shares[pair])});
    if (shares[pair] > 0) {
      const int from = ends_[pair / ends_.size()].first, to = ends_[pair % ends_.size()].first;
      const std::vector<int> choices = detour_choices(cluster.fabric(), from, to);
      inner_.clear();
      for (const int which : choices) {
        way.clear();
        cluster.fabric().detour(from, to, which, way);
        inner_.insert(inner_.end(), way.begin() + 1, way.end() - 1);
      }
      std::sort(inner_.begin(), inner_.end());
      add_crossings(inner_, shares[pair] / static_cast<double>(choices.size()));
    }
    first_.push_back(crossings_.size());
  }
}

SwitchPairs::Pair SwitchPairs::pair(int from, int to) const {
  const std::size_t index = static_cast<std::size_t>(from) * ends_.size() + static_cast<std::size_t>(to);
  return {crossings_.data() + first_[index], crossings_.data() + first_[index + 1]};
}

}  // namespace linkcast
