#pragma once
// Which of two placements is better.
#include <vector>

#include "sim/place/node_search.hpp"

namespace linkcast::placement {

inline constexpr double kSame = 1e-9;  // of two times. source: ours, rounding of sums

/// One class with what it is compared by.
struct Ranked {
  const PlacementClass* which = nullptr;
  double cost = 0;      ///< seconds, or shares of times: smaller is better
  GpuSet set;           ///< of its sets, one of those that leave most
  double left_Bps = 0;  ///< nominal rate of the direct cables between GPUs that stay free
};

/// What the objective makes of a score. @param best_alone_s  of the job anywhere on this node without neighbours
double cost_of(const Score& score, PlaceObjective objective, double best_alone_s);

/// Nominal rate of the direct cables between those free GPUs that are not in the set, bytes/s, one direction.
double rate_left(const Platform& platform, const PlaceRequest& request, const GpuSet& set);

/// Every class, best first; of equally good ones the one that leaves most, then the one with the lowest numbers.
std::vector<Ranked> rank(const Platform& platform, const PlaceRequest& request, const NodeSearch& search);

}  // namespace linkcast::placement
