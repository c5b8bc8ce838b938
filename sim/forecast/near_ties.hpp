#pragma once
// Near ties of a library's cost model between nodes: rows that may win.
#include <vector>

#include "sim/forecast/collective_job.hpp"

namespace linkcast::collective {

struct NearRow {
  std::string algorithm, protocol;
  double weight = 1;  ///< of the tuner's estimate alone: that of the best row is 1
};

/// The cost model that decides is known but for what it is fed with: bandwidths that a version, a plug-in or a file say
/// of the network, settings. So rows near the best one may win.
/// @returns  the best one first; empty: there is nothing to choose, or one choice
std::vector<NearRow> near_rows(const CollectiveJob& job);

/// A choice that is less likely is not counted.
inline constexpr double kLeastShare = 0.05;  // source: ours, half of what the interval leaves out

}  // namespace linkcast::collective
