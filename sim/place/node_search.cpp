#include "sim/place/node_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "sim/base/estimate.hpp"
#include "sim/place/ranking.hpp"

namespace linkcast::placement {
namespace {

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

}  // namespace linkcast::placement
