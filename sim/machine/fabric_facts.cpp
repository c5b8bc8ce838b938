#include "sim/machine/fabric_facts.hpp"

#include <algorithm>
#include <map>

#include "sim/base/stop.hpp"

namespace linkcast::bounds {
namespace {

/// Endpoints whose one cable goes to the same switch send and receive along the same links beyond it: one of them
/// stands for all. An endpoint with more cables (a torus) stands for itself.
struct Stand {
  int first = 0, second = 0;  ///< two of them; the same if there is one
  double count = 0;
  bool one_cable = false;
};

std::vector<Stand> stands(const Fabric& fabric) {
  const auto endpoints = static_cast<std::size_t>(fabric.endpoints());
  std::vector<int> cables(endpoints), neighbour(endpoints);
  for (int id = 0; id < fabric.links(); ++id) {
    const FabricLink link = fabric.link(id);
    if (link.from >= fabric.endpoints()) continue;
    ++cables[static_cast<std::size_t>(link.from)];
    neighbour[static_cast<std::size_t>(link.from)] = link.to;
  }
  std::vector<Stand> list;
  std::map<int, std::size_t> by_switch;
  for (int e = 0; e < fabric.endpoints(); ++e) {
    work::look();
    const auto at = static_cast<std::size_t>(e);
    const bool one_cable = cables[at] == 1 && neighbour[at] >= fabric.endpoints();
    const auto [place, added] =
        one_cable ? by_switch.try_emplace(neighbour[at], list.size()) : std::pair(by_switch.end(), true);
    if (added) {
      list.push_back({e, e, 1, one_cable});
    } else {
      Stand& stand = list[place->second];
      stand.second = e;
      ++stand.count;
    }
  }
  return list;
}

/// Walks all pairs and keeps the sums.
class Walk {
 public:
  explicit Walk(const Fabric& fabric) : fabric_(fabric), loads_(static_cast<std::size_t>(fabric.links())) {
    facts_.pairs.resize(fabric.distances().size());
  }

  void all_pairs() {
    const auto list = stands(fabric_);
    for (const Stand& a : list) {
      if (a.count > 1) pair(a.first, a.second, a.count * (a.count - 1), a, a);
      for (const Stand& b : list)
        if (a.first != b.first) pair(a.first, b.first, a.count * b.count, a, b);
    }
    const double pairs = static_cast<double>(fabric_.endpoints()) * (fabric_.endpoints() - 1);
    facts_.average_links = pairs > 0 ? facts_.average_links / pairs : 0;
    if (!list.empty() && list.front().one_cable) cables_of_endpoints();
  }

  /// A ring through all endpoints, those of a switch one after the other: each sends to the next one.
  void ring() {
    loads_.assign(loads_.size(), 0);
    std::vector<std::pair<int, int>> order;  // switch, endpoint
    for (int id = 0; id < fabric_.links(); ++id) {
      const FabricLink link = fabric_.link(id);
      if (link.from < fabric_.endpoints()) order.emplace_back(link.to < fabric_.endpoints() ? 0 : link.to, link.from);
    }
    std::sort(order.begin(), order.end());
    order.erase(std::unique(order.begin(), order.end()), order.end());
    for (std::size_t i = 0; i < order.size() && order.size() > 1; ++i)
      spread(order[i].second, order[(i + 1) % order.size()].second, 1, false, false);
  }

  [[nodiscard]] const std::vector<double>& loads() const { return loads_; }
  FabricFacts take() { return std::move(facts_); }

 private:
  void pair(int from, int to, double times, const Stand& a, const Stand& b) {
    const auto length = spread(from, to, times, a.one_cable, b.one_cable);
    facts_.diameter = std::max(facts_.diameter, length);
    facts_.average_links += times * length;
    facts_.pairs[static_cast<std::size_t>(fabric_.distance(from, to))] += times;
  }

  /// Spreads `times` over the minimal ways, less the cables of endpoints where asked. @return length of a way
  int spread(int from, int to, double times, bool skip_first, bool skip_last) {
    work::look();
    const int ways = fabric_.minimal_ways(from, to);
    int length = 0;
    for (int which = 0; which < ways; ++which) {
      way_.clear();
      fabric_.minimal_way(from, to, which, way_);
      length = static_cast<int>(way_.size());
      const auto end = way_.end() - (skip_last ? 1 : 0);
      for (auto id = way_.begin() + (skip_first ? 1 : 0); id < end; ++id)
        loads_[static_cast<std::size_t>(*id)] += times / ways;
    }
    return length;
  }

  /// What each endpoint sends and receives crosses its one cable.
  void cables_of_endpoints() {
    for (int id = 0; id < fabric_.links(); ++id) {
      const FabricLink link = fabric_.link(id);
      if (std::min(link.from, link.to) < fabric_.endpoints())
        loads_[static_cast<std::size_t>(id)] = fabric_.endpoints() - 1;
    }
  }

  const Fabric& fabric_;
  std::vector<double> loads_;
  std::vector<int> way_;
  FabricFacts facts_;
};

/// What a pair may send so that no link carries more than its rate; its class goes to `limit`.
double rate_of_a_way(const Fabric& fabric, const std::vector<double>& loads, int& limit) {
  double rate = 0;
  for (int id = 0; id < fabric.links(); ++id) {
    work::look();
    const double load = loads[static_cast<std::size_t>(id)];
    if (load <= 0) continue;
    const int link_class = fabric.link(id).link_class;
    const double here = fabric.classes()[static_cast<std::size_t>(link_class)].bandwidth.si / load;
    if (rate > 0 && here >= rate) continue;
    rate = here;
    limit = link_class;
  }
  return rate;
}

void sum_up_classes(const Fabric& fabric, const std::vector<double>& loads, FabricFacts& facts) {
  facts.cables.assign(fabric.classes().size(), 0);
  facts.loads.assign(fabric.classes().size(), {});
  for (int id = 0; id < fabric.links(); ++id) {
    const auto c = static_cast<std::size_t>(fabric.link(id).link_class);
    ++facts.cables[c];
    facts.loads[c].mean += loads[static_cast<std::size_t>(id)];
    facts.loads[c].most = std::max(facts.loads[c].most, loads[static_cast<std::size_t>(id)]);
  }
  for (std::size_t c = 0; c < facts.cables.size(); ++c) {
    if (facts.cables[c] > 0) facts.loads[c].mean /= facts.cables[c];
    facts.cables[c] /= 2;  // two links a cable
  }
}

}  // namespace

FabricFacts fabric_facts(const Fabric& fabric, int nics_per_node) {
  Walk walk(fabric);
  walk.all_pairs();
  FabricFacts facts = walk.take();
  sum_up_classes(fabric, walk.loads(), facts);
  facts.alltoall.si = rate_of_a_way(fabric, walk.loads(), facts.alltoall_limit) * (fabric.endpoints() - 1);
  walk.ring();
  int limit = 0;
  facts.allreduce.si = rate_of_a_way(fabric, walk.loads(), limit) / 2;
  facts.bisection = bisection(fabric, fabric.endpoints() / nics_per_node / 2 * nics_per_node);
  return facts;
}

}  // namespace linkcast::bounds
