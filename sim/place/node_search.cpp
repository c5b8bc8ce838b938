#include "sim/place/node_search.hpp"

#include <algorithm>
#include <boost/functional/hash.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "sim/base/limits.hpp"

namespace linkcast::placement {
namespace {

GpuSet image(const GpuSet& set, const GpuPermutation& permutation) {
  GpuSet moved;
  moved.reserve(set.size());
  for (const int gpu : set) moved.push_back(permutation[static_cast<std::size_t>(gpu)]);
  std::sort(moved.begin(), moved.end());
  return moved;
}

/// In lexicographic order.
std::vector<GpuSet> all_sets(const GpuSet& free, std::size_t size) {
  std::vector<GpuSet> sets;
  std::vector<char> taken(free.size(), 0);
  std::fill(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(size), 1);
  do {
    GpuSet set;
    for (std::size_t i = 0; i < free.size(); ++i)
      if (taken[i] != 0) set.push_back(free[i]);
    sets.push_back(std::move(set));
  } while (std::prev_permutation(taken.begin(), taken.end()));
  return sets;
}

constexpr int kMostSets = 200000;       // ours: all sets of 20 GPUs, threes of 72
constexpr int kMostOrders = 5040;       // ours: every order of seven ranks
constexpr double kMostTuples = 100000;  // source: ours, of these the orbits are found in less than 0.1 s
constexpr int kMostSwaps = 400;         // ours: forecasts of one set whose orders are too many

/// Busy GPUs may change places with busy ones, those of neighbours with nobody.
std::vector<int> colours_of(const Platform& platform, const PlaceRequest& request) {
  std::vector<int> colours(static_cast<std::size_t>(platform.gpu_count()), 0);
  for (const int gpu : request.busy) colours[static_cast<std::size_t>(gpu)] = 1;
  int next = 2;
  for (const Neighbour& neighbour : request.neighbours)
    for (const int gpu : neighbour.gpus) colours[static_cast<std::size_t>(gpu)] = next++;
  return colours;
}

std::vector<int> moved(const std::vector<int>& gpus, const GpuPermutation& symmetry) {
  std::vector<int> image;
  for (const int gpu : gpus) image.push_back(symmetry[static_cast<std::size_t>(gpu)]);
  return image;
}

/// All tuples that the symmetries make of one.
void add_orbit(const std::vector<int>& gpus, const std::vector<GpuPermutation>& symmetries,
               std::set<std::vector<int>>& seen) {
  std::vector<std::vector<int>> open = {gpus};
  seen.insert(gpus);
  while (!open.empty()) {
    const std::vector<int> at = std::move(open.back());
    open.pop_back();
    for (const GpuPermutation& symmetry : symmetries)
      if (auto [next, is_new] = seen.insert(moved(at, symmetry)); is_new) open.push_back(*next);
  }
}

class Orders {
 public:
  /// @param cost  what is to be small
  /// @param most  forecasts that the whole search may have made
  /// @param done  rank orders that the whole search has gone through
  Orders(NodeSearch& search, PlacementClass& which, Objective& objective,
         const std::function<double(const Score&)>& cost, long most, log::Work& work, std::int64_t done)
      : search_(search), which_(which), objective_(objective), cost_(cost), most_(most), work_(work), done_(done) {}

  void all() {
    std::set<std::vector<int>> seen;
    std::vector<int> order = which_.sets.front();
    do {
      work_.advance(++done_);
      work::look();
      if (seen.count(order) > 0) continue;
      add_orbit(order, search_.symmetries, seen);
      if (order != which_.sets.front() && may_go_on()) take_if_better(order);
    } while (std::next_permutation(order.begin(), order.end()));
  }

  /// Swaps two ranks as long as that helps.
  void swaps() {
    search_.exact = false;
    int left = kMostSwaps;
    for (bool better = true; better && left > 0;) {
      better = false;
      for (std::size_t a = 0; a < which_.gpus.size(); ++a)
        for (std::size_t b = a + 1; b < which_.gpus.size() && left > 0; ++b, --left) {
          if (!may_go_on()) return;
          work_.advance(++done_);
          std::vector<int> order = which_.gpus;
          std::swap(order[a], order[b]);
          better |= take_if_better(order);
        }
    }
  }

 private:
  bool may_go_on() {
    if (search_.evaluated < most_) return true;
    search_.exact = false;
    return false;
  }
  bool take_if_better(const std::vector<int>& order) {
    Score score = objective_.score(order);
    ++search_.evaluated;
    const double now = cost_(which_.score);
    if (cost_(score) >= now - kSame * std::abs(now)) return false;
    which_.score = std::move(score);
    which_.gpus = order;
    return true;
  }

  NodeSearch& search_;
  PlacementClass& which_;
  Objective& objective_;
  const std::function<double(const Score&)>& cost_;
  long most_;
  log::Work& work_;
  std::int64_t done_;
};

/// All orders of all sets of the class.
double orders_of(const PlacementClass& which) {
  double orders = static_cast<double>(which.sets.size());
  for (std::size_t i = 2; i <= which.gpus.size(); ++i) orders *= static_cast<double>(i);
  return orders;
}

/// Of a class, those of one set that are gone through, all or by swaps.
bool takes_all_orders(const PlacementClass& which) {
  return orders_of(which) <= kMostTuples && orders_of(which) / static_cast<double>(which.sets.size()) <= kMostOrders;
}
std::int64_t orders_to_try(const PlacementClass& which) {
  if (!which.ordered) return 0;
  if (!takes_all_orders(which)) return kMostSwaps;
  return static_cast<std::int64_t>(orders_of(which) / static_cast<double>(which.sets.size()));
}

/// From the best class on, so that a bound spares the bad ones.
void search_orders(NodeSearch& search, const PlaceRequest& request, Objective& objective, log::Progress& progress) {
  const double best_alone_s = search.best_alone_s();
  const std::function<double(const Score&)> cost = [&](const Score& score) {
    return cost_of(score, request.objective, best_alone_s);
  };
  std::vector<PlacementClass*> open;
  for (PlacementClass& which : search.classes) open.push_back(&which);
  std::stable_sort(open.begin(), open.end(),
                   [&](const auto* a, const auto* b) { return cost(a->score) < cost(b->score); });
  double least = cost(open.front()->score);
  std::int64_t total = 0, done = 0;
  for (const PlacementClass* which : open) total += orders_to_try(*which);
  if (total == 0) return;
  log::Work work(progress, "place", "rank orders", total);
  const long most = search.evaluated + objective.most_orders();
  for (PlacementClass* which : open) {
    if (!which->ordered) continue;
    const std::int64_t before = done;
    done += orders_to_try(*which);
    if (request.objective == PlaceObjective::kTime && objective.least_s(which->gpus) > least) continue;
    if (search.evaluated >= most) search.exact = false;
    if (search.evaluated >= most) break;
    Orders orders(search, *which, objective, cost, most, work, before);
    if (takes_all_orders(*which))
      orders.all();
    else
      orders.swaps();
    least = std::min(least, cost(which->score));
  }
}

}  // namespace

int number_of_sets(int gpus, int size) {
  long long number = 1;
  for (int i = 1; i <= std::min(size, gpus - size); ++i) {
    number = number * (gpus - i + 1) / i;
    if (number > std::numeric_limits<int>::max()) return std::numeric_limits<int>::max();
  }
  return static_cast<int>(number);
}

std::vector<std::vector<GpuSet>> set_classes(const GpuSet& free, int size,
                                             const std::vector<GpuPermutation>& symmetries) {
  const std::vector<GpuSet> sets = all_sets(free, static_cast<std::size_t>(size));
  std::unordered_map<GpuSet, std::size_t, boost::hash<GpuSet>> number;
  for (std::size_t i = 0; i < sets.size(); ++i) number[sets[i]] = i;
  std::vector<std::vector<GpuSet>> classes;
  std::vector<char> seen(sets.size(), 0);
  for (std::size_t first = 0; first < sets.size(); ++first) {
    if (seen[first] != 0) continue;
    std::vector<std::size_t> orbit = {first};
    seen[first] = 1;
    for (std::size_t i = 0; i < orbit.size(); ++i)
      for (const GpuPermutation& symmetry : symmetries) {
        const std::size_t next = number.at(image(sets[orbit[i]], symmetry));
        if (seen[next] != 0) continue;
        seen[next] = 1;
        orbit.push_back(next);
      }
    std::sort(orbit.begin(), orbit.end());
    std::vector<GpuSet>& members = classes.emplace_back();
    for (const std::size_t one : orbit) members.push_back(sets[one]);
  }
  return classes;
}

double NodeSearch::best_alone_s() const {
  double best_s = std::numeric_limits<double>::infinity();
  for (const PlacementClass& which : classes) best_s = std::min(best_s, which.score.alone_s);
  return best_s;
}

NodeSearch search_node(const PlaceRequest& request, Objective& objective, PlacementMemory& memory,
                       log::Progress& progress) {
  const Platform& platform = request.machine->platform();
  GpuSet free;
  for (int gpu = 0; gpu < platform.gpu_count(); ++gpu)
    if (!std::binary_search(request.busy.begin(), request.busy.end(), gpu)) free.push_back(gpu);
  NodeSearch search;
  search.sets = number_of_sets(static_cast<int>(free.size()), request.ranks);
  if (search.sets > kMostSets)
    throw InputError("ranks: " + std::to_string(request.ranks) + " of " + std::to_string(free.size()) +
                     " free GPUs of one node are too many sets to go through");
  search.symmetries = memory.symmetries(request.machine, colours_of(platform, request));
  auto classes = set_classes(free, request.ranks, search.symmetries);
  std::optional<log::Work> work(std::in_place, progress, "place", "forecasts", std::ssize(classes));
  work::Rounds rounds("place", "forecasts", std::ssize(classes));
  for (auto& sets : classes) {
    PlacementClass& which = search.classes.emplace_back(PlacementClass{std::move(sets), {}, {}, false});
    which.gpus = which.sets.front();
    which.score = objective.score(which.gpus);
    which.ordered = objective.order_matters(which.gpus);
    work->advance(++search.evaluated);
    rounds.done(search.evaluated);
  }
  work.reset();
  search_orders(search, request, objective, progress);
  return search;
}

std::vector<int> order_of(const NodeSearch& search, const PlacementClass& which, const GpuSet& set) {
  if (set == which.sets.front()) return which.gpus;
  if (!which.ordered) return set;
  std::set<GpuSet> seen = {which.sets.front()};
  std::vector<std::vector<int>> open = {which.gpus};
  for (std::size_t i = 0; i < open.size(); ++i)
    for (const GpuPermutation& symmetry : search.symmetries) {
      std::vector<int> order = moved(open[i], symmetry);
      GpuSet members = order;
      std::sort(members.begin(), members.end());
      if (!seen.insert(members).second) continue;
      if (members == set) return order;
      open.push_back(std::move(order));
    }
  throw InvariantError("placement: a set is of another class than it was found in");
}

double rate_left(const Platform& platform, const PlaceRequest& request, const GpuSet& set) {
  const auto stays_free = [&](int device) {
    const auto& gpus = platform.topology().gpus();
    const auto gpu = static_cast<int>(std::find(gpus.begin(), gpus.end(), device) - gpus.begin());
    return gpu < platform.gpu_count() && !std::binary_search(set.begin(), set.end(), gpu) &&
           !std::binary_search(request.busy.begin(), request.busy.end(), gpu);
  };
  double rate_Bps = 0;
  for (const Cable& cable : platform.topology().cables)
    if (is_accelerator_cable(cable.kind) && stays_free(cable.a) && stays_free(cable.b))
      rate_Bps += cable.count * cable.bandwidth.si;
  return rate_Bps;
}

std::vector<Ranked> rank(const Platform& platform, const PlaceRequest& request, const NodeSearch& search) {
  const double best_alone_s = search.best_alone_s();
  std::vector<Ranked> ranked;
  for (const PlacementClass& which : search.classes) {
    // Sets of one class leave the same: what a symmetry makes of the set it also makes of what is left.
    const GpuSet& first = which.sets.front();
    ranked.push_back(
        {&which, cost_of(which.score, request.objective, best_alone_s), first, rate_left(platform, request, first)});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.cost < b.cost; });
  for (auto begin = ranked.begin(); begin != ranked.end();) {
    const double most = begin->cost + kSame * std::max(begin->cost, kSame);
    const auto end = std::find_if(begin, ranked.end(), [&](const Ranked& one) { return one.cost > most; });
    std::stable_sort(begin, end, [](const Ranked& a, const Ranked& b) {
      return a.left_Bps != b.left_Bps ? a.left_Bps > b.left_Bps : a.set < b.set;
    });
    begin = end;
  }
  return ranked;
}

}  // namespace linkcast::placement
