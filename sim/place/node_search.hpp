#pragma once
// Every way to place a job on one node, by classes that a symmetry of the machine makes equal, and which is best.
#include <cstdint>
#include <vector>

#include "sim/base/progress.hpp"
#include "sim/machine/symmetry.hpp"
#include "sim/place/objective.hpp"
#include "sim/place/placement_memory.hpp"

namespace linkcast::placement {

/// GPU numbers, ascending.
using GpuSet = std::vector<int>;

/// Number of sets of `size` out of `gpus`; 2^53 where that is more.
std::int64_t number_of_sets(int gpus, int size);

/// All sets of `size` out of `free`, by class: two sets are of one class if a product of the symmetries makes one out
/// of the other. Classes in the order of their first member, members in lexicographic order.
/// @param free  ascending GPU numbers
/// @param symmetries  that move no GPU into or out of `free`
std::vector<std::vector<GpuSet>> set_classes(const GpuSet& free, int size,
                                             const std::vector<GpuPermutation>& symmetries);

/// Sets of GPUs that symmetries turn into each other.
struct SetOrbit {
  std::vector<GpuSet> sets{};  ///< the first for all; of too many some
  std::int64_t count = 0;      ///< sets in all
};

/// Those of set_classes() without going through all sets: sets of one GPU more come from one set of each class. A class
/// may be in several pieces, whose counts add up. The first piece has the lowest numbers.
/// @throws InputError  more than `most` pieces of some size: says what to do
std::vector<SetOrbit> set_orbits(const GpuSet& free, int size, const std::vector<GpuPermutation>& symmetries,
                                 std::size_t most);

/// Sets of GPUs that are as good as each other.
struct PlacementClass {
  std::vector<GpuSet> sets;  ///< in lexicographic order; of more than can be gone through some, the first for all
  std::int64_t count = 0;    ///< sets in all
  std::vector<int> gpus{};   ///< of each rank: the best order of the first set, or the first where none can be the best
  Score score{};             ///< of these
  Score in_order{};          ///< of the first set in the order of its numbers
  bool ordered = false;      ///< another order may take another time
};

struct NodeSearch {
  std::vector<PlacementClass> classes;     ///< in the order of their first set
  std::vector<GpuPermutation> symmetries;  ///< of the machine with its busy GPUs
  std::int64_t sets = 0;
  long evaluated = 0;
  bool exact = true;  ///< false: of some set not every rank order was tried

  /// Best time of the job without its neighbours, anywhere.
  [[nodiscard]] double best_alone_s() const;
};

/// @throws InputError  more sets than can be gone through
NodeSearch search_node(const PlaceRequest& request, Objective& objective, PlacementMemory& memory,
                       log::Progress& progress);

/// The best rank order of another set of the class: the image of the class's own under a symmetry.
std::vector<int> order_of(const NodeSearch& search, const PlacementClass& which, const GpuSet& set);

/// One class with what it is compared by.
struct Ranked {
  const PlacementClass* which = nullptr;
  double cost = 0;      ///< seconds, or shares of times: smaller is better
  GpuSet set;           ///< of its sets, one of those that leave most
  double left_Bps = 0;  ///< nominal rate of the direct cables between GPUs that stay free
};

/// Nominal rate of the direct cables between those free GPUs that are not in the set, bytes/s, one direction.
double rate_left(const Platform& platform, const PlaceRequest& request, const GpuSet& set);

/// Every class, best first; of equally good ones the one that leaves most, then the one with the lowest numbers.
std::vector<Ranked> rank(const Platform& platform, const PlaceRequest& request, const NodeSearch& search);

}  // namespace linkcast::placement
