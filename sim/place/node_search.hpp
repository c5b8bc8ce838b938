#pragma once
// Every way to place a job on one node, by classes that a symmetry of the machine makes equal.
#include <vector>

#include "sim/base/progress.hpp"
#include "sim/place/gpu_sets.hpp"
#include "sim/place/objective.hpp"
#include "sim/place/placement_memory.hpp"

namespace linkcast::placement {

/// Sets of GPUs that are as good as each other.
struct PlacementClass {
  std::vector<GpuSet> sets;  ///< in lexicographic order
  std::vector<int> gpus;     ///< of each rank: the best order of the first set, or the first where none can be the best
  Score score;               ///< of these
  bool ordered = false;      ///< another order may take another time
};

struct NodeSearch {
  std::vector<PlacementClass> classes;     ///< in the order of their first set
  std::vector<GpuPermutation> symmetries;  ///< of the machine with its busy GPUs
  int sets = 0;
  long evaluated = 0;
  bool exact = true;  ///< false: of some set not every rank order was tried

  /// Of the job without its neighbours, anywhere.
  [[nodiscard]] double best_alone_s() const;
};

/// @throws InputError  more sets than can be gone through
NodeSearch search_node(const PlaceRequest& request, Objective& objective, PlacementMemory& memory,
                       log::Progress& progress);

/// The best rank order of another set of the class: the image of the class's own under a symmetry.
std::vector<int> order_of(const NodeSearch& search, const PlacementClass& which, const GpuSet& set);

}  // namespace linkcast::placement
