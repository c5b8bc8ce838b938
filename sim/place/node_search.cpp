#include "sim/place/node_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/functional/hash.hpp>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "sim/base/index.hpp"
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

constexpr int kMostSets = 200000;         // ours: all sets of 20 GPUs, threes of 72
constexpr std::size_t kMostKinds = 300;   // ours: of sets, forecasts of a few milliseconds each
constexpr std::size_t kMostImages = 24;   // ours: that are followed at once for a least one
constexpr std::size_t kMostMembers = 64;  // ours: sets of a class that are named where not all are known
constexpr int kMostOrders = 5040;         // ours: every order of seven ranks
constexpr double kMostTuples = 100000;    // source: ours, of these the orbits are found in less than 0.1 s
constexpr int kMostSwaps = 400;           // ours: forecasts of one set whose orders are too many

/// Which GPUs the symmetries that leave lower ones where they are bring to a GPU, and how.
/// @source  S. Linton, Finding the smallest image of a set, ISSAC 2004; here only symmetries that fix the GPUs that are
///          not in the image are followed, and a bounded number of images: an image that is not the smallest one tells
///          apart sets that are alike, and never makes others so
class Stabilizers {
 public:
  /// @param symmetries  a strong generating set for the GPUs in their order, as gpu_symmetries() gives it
  Stabilizers(const std::vector<GpuPermutation>& symmetries, const GpuSet& free) {
    for (const int base : free) {
      std::map<int, GpuPermutation>& to_base = levels_[base];
      std::vector<const GpuPermutation*> fixing;
      for (const GpuPermutation& one : symmetries)
        if (std::all_of(free.begin(), std::lower_bound(free.begin(), free.end(), base),
                        [&](int gpu) { return one[at(gpu)] == gpu; }))
          fixing.push_back(&one);
      to_base[base] = first_numbers(free.back() + 1);
      std::vector<int> orbit = {base};
      for (std::size_t i = 0; i < orbit.size(); ++i)
        for (const GpuPermutation* one : fixing) {
          const int next = (*one)[at(orbit[i])];
          if (to_base.count(next) > 0) continue;
          GpuPermutation back = to_base.at(orbit[i]);  // after the inverse of `one`
          for (const int gpu : free) back[at((*one)[at(gpu)])] = to_base.at(orbit[i])[at(gpu)];
          to_base.emplace(next, std::move(back));
          orbit.push_back(next);
        }
    }
  }

  /// Smallest image that is found, the same for images of each other as a rule.
  [[nodiscard]] GpuSet least_image(const GpuSet& set) const {
    std::set<GpuSet> open = {set};
    for (const auto& [base, to_base] : levels_) {
      std::set<GpuSet> next;
      for (const GpuSet& one : open)
        for (const int gpu : one)
          if (const auto brings = to_base.find(gpu); brings != to_base.end()) next.insert(image(one, brings->second));
      if (next.empty()) continue;
      while (next.size() > kMostImages) next.erase(std::prev(next.end()));
      open = std::move(next);
    }
    return *open.begin();
  }

 private:
  std::map<int, std::map<int, GpuPermutation>> levels_{};  ///< by base: by GPU, a symmetry that brings it there
};

GpuSet without(const GpuSet& all, const GpuSet& some) {
  GpuSet rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
  return rest;
}

/// Some more sets of an orbit than its first, in lexicographic order after it.
void add_images(SetOrbit& orbit, const std::vector<GpuPermutation>& symmetries) {
  std::set<GpuSet> seen = {orbit.sets.front()};
  for (std::size_t i = 0; i < orbit.sets.size(); ++i)
    for (const GpuPermutation& symmetry : symmetries) {
      GpuSet next = image(orbit.sets[i], symmetry);
      if (orbit.sets.size() < kMostMembers && seen.insert(next).second) orbit.sets.push_back(std::move(next));
    }
  std::sort(orbit.sets.begin() + 1, orbit.sets.end());
}

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
  auto orders = static_cast<double>(which.count);
  for (std::size_t i = 2; i <= which.gpus.size(); ++i) orders *= static_cast<double>(i);
  return orders;
}

/// Of a class, those of one set that are gone through, all or by swaps.
bool takes_all_orders(const PlacementClass& which) {
  return orders_of(which) <= kMostTuples && orders_of(which) / static_cast<double>(which.count) <= kMostOrders;
}
std::int64_t orders_to_try(const PlacementClass& which) {
  if (!which.ordered) return 0;
  if (!takes_all_orders(which)) return kMostSwaps;
  return static_cast<std::int64_t>(orders_of(which) / static_cast<double>(which.count));
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

std::int64_t number_of_sets(int gpus, int size) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  std::int64_t number = 1;
  for (int i = 1; i <= std::min(size, gpus - size); ++i) {
    number = number * (gpus - i + 1) / i;
    if (number > kMost) return kMost;
  }
  return number;
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

std::vector<SetOrbit> set_orbits(const GpuSet& free, int size, const std::vector<GpuPermutation>& symmetries,
                                 std::size_t most) {
  const int count = static_cast<int>(free.size());
  const bool outside = 2 * size > count;  // those left out are fewer
  const Stabilizers stabilizers(symmetries, free);
  std::map<GpuSet, double> counts = {{{}, 1}};  // by least image
  for (int n = 1; n <= (outside ? count - size : size); ++n) {
    std::map<GpuSet, double> larger;
    for (const auto& [set, sets] : counts)
      for (const int gpu : free) {
        work::look();
        GpuSet more = set;
        const auto place = std::lower_bound(more.begin(), more.end(), gpu);
        if (place != more.end() && *place == gpu) continue;
        more.insert(place, gpu);
        larger[stabilizers.least_image(more)] += sets / n;  // each set comes from each of its GPUs
        if (larger.size() > most)
          throw InputError(
              fmt::format("ranks: {} of {} free GPUs are more than {} kinds of sets, symmetries considered: "
                          "name GPUs of other racks, boards or sockets as busy, or take fewer ranks",
                          size, count, most));
      }
    counts = std::move(larger);
  }
  std::vector<SetOrbit> orbits;
  for (const auto& [set, sets] : counts)
    orbits.push_back({{outside ? without(free, set) : set}, static_cast<std::int64_t>(std::llround(sets))});
  const GpuSet first(free.begin(), free.begin() + size);
  const auto of_first =
      std::find_if(orbits.begin(), orbits.end(),
                   [&, least = stabilizers.least_image(outside ? without(free, first) : first)](const SetOrbit& orbit) {
                     return (outside ? without(free, orbit.sets.front()) : orbit.sets.front()) == least;
                   });
  if (of_first == orbits.end()) throw InvariantError("placement: the first GPUs are of no class");
  of_first->sets.front() = first;
  std::rotate(orbits.begin(), of_first, of_first + 1);
  for (SetOrbit& orbit : orbits) add_images(orbit, symmetries);
  return orbits;
}

double NodeSearch::best_alone_s() const {
  double best_s = std::numeric_limits<double>::infinity();
  for (const PlacementClass& which : classes) best_s = std::min(best_s, which.score.alone_s);
  return best_s;
}

namespace {

/// Sets by class: all of them where they are not too many to go through.
std::vector<SetOrbit> all_classes(const GpuSet& free, int size, const NodeSearch& search) {
  if (search.sets > kMostSets) return set_orbits(free, size, search.symmetries, kMostKinds);
  std::vector<SetOrbit> classes;
  for (std::vector<GpuSet>& sets : set_classes(free, size, search.symmetries)) {
    const std::int64_t count = std::ssize(sets);
    classes.push_back({std::move(sets), count});
  }
  return classes;
}

}  // namespace

NodeSearch search_node(const PlaceRequest& request, Objective& objective, PlacementMemory& memory,
                       log::Progress& progress) {
  const Platform& platform = request.machine->platform();
  GpuSet free;
  for (int gpu = 0; gpu < platform.gpu_count(); ++gpu)
    if (!std::binary_search(request.busy.begin(), request.busy.end(), gpu)) free.push_back(gpu);
  NodeSearch search;
  search.sets = number_of_sets(static_cast<int>(free.size()), request.ranks);
  search.symmetries = memory.symmetries(request.machine, colours_of(platform, request));
  std::vector<SetOrbit> classes = all_classes(free, request.ranks, search);
  std::optional<log::Work> work(std::in_place, progress, "place", "forecasts", std::ssize(classes));
  work::Rounds rounds("place", "forecasts", std::ssize(classes));
  for (SetOrbit& one : classes) {
    PlacementClass& which = search.classes.emplace_back(PlacementClass{std::move(one.sets), one.count});
    which.gpus = which.sets.front();
    which.score = which.in_order = objective.score(which.gpus);
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
