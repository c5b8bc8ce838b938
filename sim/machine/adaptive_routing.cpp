#include "sim/machine/adaptive_routing.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <unordered_map>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/limits.hpp"

namespace linkcast {
namespace {

constexpr int kRounds = 40;             // ours: shares settle within 1/40
constexpr std::size_t kLinksAWay = 16;  // so many at least fit into the room made for one. source: ours
constexpr std::size_t kFewPairs = 64;   // source: ours, of some hundred links each
constexpr double kHotter = 1 + 1e-9;    // source: ours, against rounding
// Detours of a pair that stand for all, fewer where many pairs together take all of them evenly anyway. source: ours,
// about a tenth of a second
constexpr std::size_t kFewestChoices = 32, kMostChoices = 256, kAllChoices = 262144;
// Multiples of these two fill a square evenly, whatever their number. source: Kronecker's theorem; Kuipers and
// Niederreiter, Uniform Distribution of Sequences, 1974, section 2.3
constexpr double kGolden = 0.618033988749895, kRootOfTwo = 1.414213562373095;

/// Ways one after the other in flat arrays, without ports; links numbered densely in the order they are met.
class Ways {
 public:
  /// @param few  pairs that meet few of the fabric's links: a table of all would cost more than their routes
  Ways(const Fabric& fabric, const std::function<double(int)>& busy_s, const LinkOrbits& orbits,
       const Concurrent& concurrent, bool few)
      : busy_s_(busy_s), orbits_(orbits), concurrent_(concurrent), number_(few ? 0 : at(fabric.links()), -1) {}

  /// @param links  with the ports at both ends
  void add(const std::vector<int>& links) {
    for (std::size_t i = 1; i + 1 < links.size(); ++i) links_.push_back(dense(links[i]));
    ends_.push_back(links_.size());
  }
  [[nodiscard]] std::size_t count() const { return ends_.size() - 1; }
  void load(std::size_t first, std::size_t last, double bytes_each) {
    for (std::size_t i = ends_[first]; i < ends_[last]; ++i)
      seconds_[at(links_[i])] += bytes_each * per_byte_[at(links_[i])];
  }
  /// Busiest link of each way, at least `port_s`, on average over them.
  [[nodiscard]] double cost(std::size_t first, std::size_t last, double port_s) const {
    double sum = 0;
    for (std::size_t way = first; way < last; ++way) {
      double most = port_s;
      for (std::size_t i = ends_[way]; i < ends_[way + 1]; ++i) most = std::max(most, seconds_[at(links_[i])]);
      sum += most;
    }
    return sum / static_cast<double>(last - first);
  }
  [[nodiscard]] double worst() const {
    return seconds_.empty() ? 0 : *std::max_element(seconds_.begin(), seconds_.end());
  }
  /// Seconds below which no share can bring the busiest.
  [[nodiscard]] double others_most() const { return others_most_; }
  void clear() { seconds_ = of_others_; }

 private:
  int dense(int link) {
    const bool alike = orbits_.turns > 1;
    const int orbit = alike ? orbits_.of_link[at(link)] : link;
    int& number = number_.empty() ? number_of_few_.try_emplace(orbit, -1).first->second : number_[at(orbit)];
    if (number < 0) {
      number = static_cast<int>(seconds_.size());
      of_others_.push_back(concurrent_.busy_s ? concurrent_.busy_s(link) : 0);
      others_most_ = std::max(others_most_, of_others_.back());
      seconds_.push_back(of_others_.back());
      per_byte_.push_back(busy_s_(link) * (alike ? 1.0 * orbits_.turns / orbits_.sizes[at(orbit)] : 1));
    }
    return number;
  }

  const std::function<double(int)>& busy_s_;
  const LinkOrbits& orbits_;
  const Concurrent& concurrent_;
  std::vector<int> number_, links_;
  std::unordered_map<int, int> number_of_few_;
  std::vector<std::size_t> ends_{0};
  std::vector<double> seconds_, per_byte_, of_others_;
  double others_most_ = 0;
};

/// Links at both ends of a demand's ways: its ports.
std::pair<int, int> ports_of(const Fabric& fabric, int from, int to) {
  std::vector<int> way;
  way.reserve(kLinksAWay);
  fabric.minimal_way(from, to, 0, way);
  return {way.front(), way.back()};
}

/// So many of a pair's detours, at even distances, other ones for each pair (x, y).
std::vector<int> chosen(const Fabric& fabric, int from, int to, int most, int x, int y) {
  const int all = fabric.detours(from, to), taken = std::min(all, most);
  const double start = taken < all ? std::fmod(kGolden * x + kRootOfTwo * y, 1) : 0;
  std::vector<int> choices;
  choices.reserve(at(taken));
  for (int i = 0; i < taken; ++i) choices.push_back(static_cast<int>((i + start) * all / taken));
  return choices;
}

/// The same ones for all endpoints of two switches.
std::vector<int> by_switches(const Fabric& fabric, int from, int to, int most) {
  const auto [out, in] = ports_of(fabric, from, to);
  return chosen(fabric, from, to, most, fabric.link(out).to - fabric.endpoints(),
                fabric.link(in).from - fabric.endpoints());
}

/// A demand and its ways: minimal ones, and detours once they were looked for.
struct Pair {
  double bytes = 0, port_s = 0, share = 0;
  std::size_t minimal = 0, minimal_end = 0, detours = 0, detours_end = 0;
};

class Equilibrium {
 public:
  Equilibrium(const Fabric& fabric, const std::function<double(int)>& busy_s, const std::vector<SwitchDemand>& demands,
              int choices, const LinkOrbits& orbits, const Concurrent& concurrent)
      : fabric_(fabric),
        demands_(demands),
        choices_(choices),
        ways_(fabric, busy_s, orbits, concurrent, demands.size() < kFewPairs) {
    for (const SwitchDemand& demand : demands) {
      work::look();
      Pair pair{demand.bytes, demand.port_s};
      pair.minimal = ways_.count();
      for (int which = 0; which < fabric.minimal_ways(demand.from, demand.to); ++which) {
        way_.clear();
        fabric.minimal_way(demand.from, demand.to, which, way_);
        ways_.add(way_);
      }
      pair.minimal_end = ways_.count();
      pairs_.push_back(pair);
      ports_s_ = std::max(ports_s_, demand.port_s);
    }
  }

  std::vector<double> run() {
    std::vector<double> best(pairs_.size(), 0);
    load_all();
    double least = worst();
    const auto can_improve = [&] { return least > kHotter * std::max(ports_s_, ways_.others_most()); };
    for (int round = 1; round <= kRounds && can_improve() && turn(round); ++round) {
      load_all();
      if (kHotter * worst() >= least) continue;
      least = worst();
      for (std::size_t i = 0; i < pairs_.size(); ++i) best[i] = pairs_[i].share;
    }
    return best;
  }

 private:
  [[nodiscard]] double worst() const { return std::max(ports_s_, ways_.worst()); }

  /// @returns  false if nobody has a reason for a detour
  bool turn(int round) {
    bool any = false;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      work::look();
      Pair& pair = pairs_[i];
      const double cost = ways_.cost(pair.minimal, pair.minimal_end, pair.port_s);
      const bool hot = cost > kHotter * pair.port_s;
      if (hot && pair.detours == pair.detours_end) add_detours(i);
      if (pair.detours == pair.detours_end) continue;
      any = true;
      const bool detour = hot && kHotter * ways_.cost(pair.detours, pair.detours_end, pair.port_s) < cost;
      pair.share += ((detour ? 1 : 0) - pair.share) / (round + 1);
    }
    return any;
  }

  void add_detours(std::size_t i) {
    pairs_[i].detours = ways_.count();
    for (const int which : by_switches(fabric_, demands_[i].from, demands_[i].to, choices_)) {
      way_.clear();
      fabric_.detour(demands_[i].from, demands_[i].to, which, way_);
      ways_.add(way_);
    }
    pairs_[i].detours_end = ways_.count();
  }

  void load_all() {
    ways_.clear();
    for (const Pair& pair : pairs_) {
      work::look();
      load(pair.minimal, pair.minimal_end, pair.bytes * (1 - pair.share));
      if (pair.share > 0) load(pair.detours, pair.detours_end, pair.bytes * pair.share);
    }
  }
  void load(std::size_t first, std::size_t last, double bytes) {
    ways_.load(first, last, bytes / static_cast<double>(last - first));
  }

  const Fabric& fabric_;
  const std::vector<SwitchDemand>& demands_;
  int choices_;
  Ways ways_;
  std::vector<Pair> pairs_;
  std::vector<int> way_;  ///< kept for its memory
  double ports_s_ = 0;    ///< of the busiest port of all
};

}  // namespace

void add_adaptive_links(const Fabric& fabric, int from, int to, const AdaptiveWay& how,
                        std::vector<WeightedLink>& links) {
  const std::size_t first = links.size();
  add_fabric_links(fabric, FabricRouting::kAdaptive, from, to, links, how.most);
  for (std::size_t i = first; i < links.size(); ++i) links[i].share *= 1 - how.detoured;
  if (how.detoured <= 0) return;
  const std::vector<int> choices = how.most < how.choices ? chosen(fabric, from, to, how.most, from, to)
                                                          : by_switches(fabric, from, to, how.choices);
  std::vector<int> way;
  way.reserve(kLinksAWay);
  for (const int which : choices) {
    way.clear();
    fabric.detour(from, to, which, way);
    for (const int link : way) links.push_back({link, how.detoured / static_cast<double>(choices.size())});
  }
}

namespace {

Detours settled(const Fabric& fabric, const std::function<double(int)>& busy_s,
                const std::vector<SwitchDemand>& demands, const LinkOrbits& orbits, const Concurrent& concurrent) {
  const auto some = static_cast<std::size_t>(std::count_if(
      demands.begin(), demands.end(), [&](const SwitchDemand& one) { return fabric.detours(one.from, one.to) > 0; }));
  if (some == 0) return {std::vector<double>(demands.size(), 0)};
  const auto choices = concurrent.busy_s
                           ? concurrent.choices
                           : static_cast<int>(std::clamp(kAllChoices / some, kFewestChoices, kMostChoices));
  return {Equilibrium(fabric, busy_s, demands, choices, orbits, concurrent).run(), choices};
}

}  // namespace

Detours switch_detours(const Fabric& fabric, const std::function<double(int)>& busy_s,
                       const std::vector<SwitchDemand>& demands, const LinkOrbits& orbits) {
  return settled(fabric, busy_s, demands, orbits, {});
}

Detours endpoint_detours(const Fabric& fabric, const std::function<double(int)>& busy_s,
                         const std::vector<Demand>& demands, const Concurrent& concurrent) {
  std::unordered_map<int, double> port_s;
  std::vector<std::pair<int, int>> ports;
  for (const Demand& demand : demands) {
    ports.push_back(ports_of(fabric, demand.from, demand.to));
    for (const int port : {ports.back().first, ports.back().second}) {
      const auto [entry, fresh] = port_s.try_emplace(port, 0);
      if (fresh && concurrent.busy_s) entry->second = concurrent.busy_s(port);
      entry->second += demand.bytes * busy_s(port);
    }
  }
  std::map<std::pair<int, int>, std::size_t> number;
  std::vector<SwitchDemand> together;
  std::vector<std::size_t> of_demand;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const auto [out, in] = ports[i];
    const auto [entry, fresh] = number.try_emplace({fabric.link(out).to, fabric.link(in).from}, together.size());
    if (fresh) together.push_back({demands[i].from, demands[i].to});
    SwitchDemand& sum = together[entry->second];
    sum.bytes += demands[i].bytes;
    sum.port_s = std::max({sum.port_s, port_s[out], port_s[in], concurrent.moving_s});
    of_demand.push_back(entry->second);
  }
  Detours detours = settled(fabric, busy_s, together, {}, concurrent);
  std::vector<double> by_demand;
  for (const std::size_t group : of_demand) by_demand.push_back(detours.shares[group]);
  return {std::move(by_demand), detours.choices};
}

}  // namespace linkcast
