#include "sim/platform/adaptive_routing.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

namespace linkcast {
namespace {

constexpr int kRounds = 40;           // ours: shares settle within 1/40
constexpr double kHotter = 1 + 1e-9;  // source: ours, against rounding
constexpr int kMostDetours = 256;     // ours: of more, every n-th stands for its neighbours

using Way = std::vector<int>;  // dense link numbers

/// Bytes on links, numbered densely in the order they are met.
class Loads {
 public:
  explicit Loads(const std::function<double(int)>& busy_s) : busy_s_(busy_s) {}

  Way dense(const std::vector<int>& links) {
    Way way;
    for (const int link : links) {
      const auto [entry, fresh] = number_.try_emplace(link, static_cast<int>(seconds_.size()));
      if (fresh) {
        seconds_.push_back(0);
        per_byte_.push_back(busy_s_(link));
      }
      way.push_back(entry->second);
    }
    return way;
  }
  void add(const std::vector<Way>& ways, double bytes) {
    const double each = bytes / static_cast<double>(ways.size());
    for (const Way& way : ways)
      for (const int link : way)
        seconds_[static_cast<std::size_t>(link)] += each * per_byte_[static_cast<std::size_t>(link)];
  }
  /// Busiest link of each way, on average over them.
  [[nodiscard]] double cost(const std::vector<Way>& ways) const {
    double sum = 0;
    for (const Way& way : ways) {
      double most = 0;
      for (const int link : way) most = std::max(most, seconds_[static_cast<std::size_t>(link)]);
      sum += most;
    }
    return sum / static_cast<double>(ways.size());
  }
  [[nodiscard]] double seconds(int link) const { return seconds_[static_cast<std::size_t>(link)]; }
  [[nodiscard]] double worst() const {
    return seconds_.empty() ? 0 : *std::max_element(seconds_.begin(), seconds_.end());
  }
  void clear() { std::fill(seconds_.begin(), seconds_.end(), 0.0); }

 private:
  const std::function<double(int)>& busy_s_;
  std::unordered_map<int, int> number_;
  std::vector<double> seconds_, per_byte_;
};

struct Pair {
  double bytes = 0, share = 0;
  std::vector<Way> minimal{}, detours{};
  [[nodiscard]] double ports(const Loads& loads) const {
    return std::max(loads.seconds(minimal.front().front()), loads.seconds(minimal.front().back()));
  }
};

Pair minimal_only(const Fabric& fabric, const Demand& demand, Loads& loads) {
  Pair pair{demand.bytes};
  std::vector<int> links;
  for (int which = 0; which < fabric.minimal_ways(demand.from, demand.to); ++which) {
    links.clear();
    fabric.minimal_way(demand.from, demand.to, which, links);
    pair.minimal.push_back(loads.dense(links));
  }
  return pair;
}

void add_detours(const Fabric& fabric, const Demand& demand, Loads& loads, Pair& pair) {
  std::vector<int> links;
  for (const int which : detour_choices(fabric, demand.from, demand.to)) {
    links.clear();
    fabric.detour(demand.from, demand.to, which, links);
    pair.detours.push_back(loads.dense(links));
  }
}

void load_all(const std::vector<Pair>& pairs, Loads& loads) {
  loads.clear();
  for (const Pair& pair : pairs) {
    loads.add(pair.minimal, pair.bytes * (1 - pair.share));
    if (pair.share > 0) loads.add(pair.detours, pair.bytes * pair.share);
  }
}

}  // namespace

std::vector<int> detour_choices(const Fabric& fabric, int from, int to) {
  const int all = fabric.detours(from, to), taken = std::min(all, kMostDetours);
  std::vector<int> choices;
  for (int i = 0; i < taken; ++i) choices.push_back(static_cast<int>(static_cast<long>(i) * all / taken));
  return choices;
}

void add_adaptive_links(const Fabric& fabric, int from, int to, double detoured, std::vector<WeightedLink>& links) {
  const std::size_t first = links.size();
  add_fabric_links(fabric, FabricRouting::kAdaptive, from, to, links);
  for (std::size_t i = first; i < links.size(); ++i) links[i].share *= 1 - detoured;
  if (detoured <= 0) return;
  const std::vector<int> choices = detour_choices(fabric, from, to);
  std::vector<int> way;
  for (const int which : choices) {
    way.clear();
    fabric.detour(from, to, which, way);
    for (const int link : way) links.push_back({link, detoured / static_cast<double>(choices.size())});
  }
}

std::vector<double> detour_shares(const Fabric& fabric, const std::function<double(int)>& busy_s,
                                  const std::vector<Demand>& demands) {
  Loads loads(busy_s);
  std::vector<Pair> pairs;
  for (const Demand& demand : demands) pairs.push_back(minimal_only(fabric, demand, loads));
  load_all(pairs, loads);
  std::vector<double> best(demands.size(), 0);
  double least = loads.worst();
  for (int round = 1; round <= kRounds; ++round) {
    bool any = false;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      Pair& pair = pairs[i];
      const double cost = loads.cost(pair.minimal);
      const bool hot = cost > kHotter * pair.ports(loads);
      if (hot && pair.detours.empty()) add_detours(fabric, demands[i], loads, pair);
      if (pair.detours.empty()) continue;
      any = true;
      const double target = hot && kHotter * loads.cost(pair.detours) < cost ? 1 : 0;
      pair.share += (target - pair.share) / (round + 1);
    }
    if (!any) break;
    load_all(pairs, loads);
    if (kHotter * loads.worst() >= least) continue;
    least = loads.worst();
    for (std::size_t i = 0; i < pairs.size(); ++i) best[i] = pairs[i].share;
  }
  return best;
}

}  // namespace linkcast
