#pragma once
// How much longer collectives take while their GPUs compute.
#include <vector>

#include "apps-traces/import/kineto_file.hpp"

namespace linkcast::kineto {

struct CollectiveOverlap {
  double slowdown = 1;  ///< a collective takes this many times as long while one of its ranks computes; at least 1
  int calls = 0;        ///< it was fitted to; 0: nothing was seen both ways
};

/// Ranks wait for each other in a collective: the one that waited least shows what it takes. Its time over calls of one
/// operation, size and group is a line of the share of it in which that rank computed; one factor for all kinds, each
/// weighed by its calls and time.
/// @param ranks  of one job, in order
CollectiveOverlap collective_overlap(const std::vector<RankRecording>& ranks);

}  // namespace linkcast::kineto
