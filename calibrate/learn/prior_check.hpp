#pragma once
// Whether measuring pays: what was learned of a machine against its prior, on data left out of the fit.
#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/fit/map_fit.hpp"

namespace linkcast::learn {

/// Parameters of one part of a library, as "nccl.ring.LL@2.27", that data make no better.
struct LeftAtPrior {
  std::string of;
  std::size_t points = 0;         ///< that they act on
  double learned = 0, prior = 0;  ///< mean of |ln(modelled / measured)| of these, each left out of its fit
  std::vector<std::size_t> unknowns{};
};

/// Leaves every third point out in turn, goes on from what was learned without it, and compares.
/// @returns  parts whose points are forecast worse than by the prior
std::vector<LeftAtPrior> no_better_than_prior(const fit::MapRequest& request, const fit::MapResult& learned);

}  // namespace linkcast::learn
