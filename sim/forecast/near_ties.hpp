#pragma once
// Near ties of a library's cost model between nodes: rows that may win.
#include <vector>

#include "sim/forecast/collective_job.hpp"

namespace linkcast::collective {

struct NearRow {
  std::string algorithm, protocol;
  double weight = 1;  ///< of the tuner's estimate alone: that of the best row is 1; 0: it does not run
};

/// Whether the machine's own collectives of this sort between nodes were fitted, or are being fitted: what the library
/// chose for them is part of the data, so that the likeliest row is the forecast.
bool choice_measured(const CollectiveJob& job);

/// The cost model that decides is known but for what it is fed with: bandwidths that a version, a plug-in or a file say
/// of the network, settings. So rows near the best one may win.
/// @returns  the best one first; empty: there is nothing to choose, or one choice
std::vector<NearRow> near_rows(const CollectiveJob& job);

/// A choice that is less likely is not named.
inline constexpr double kLeastShare = 0.05;  // source: ours, half of what the interval leaves out

/// Libraries are tuned, and rarely keep to a row that takes longer than another one: what follows for a row.
struct Tuned {
  double likelihood = 1;  ///< that a library keeps to such a row
  double excess = 0;      ///< mean ln(time over that of the best other row), if it does
};
/// @param excess, spread  mean and standard deviation of ln(time over that of the best other row), before that
Tuned as_tuned(double excess, double spread);

}  // namespace linkcast::collective
