#pragma once
// Rates under what-if edits: factors on single cables become fitted parameters of single cables.
#include <map>
#include <string>
#include <vector>

#include "sim/machine/topology.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast {

/// Removes the parameters of cables, kinds and links that the topology no longer has.
void drop_orphans(const Topology& topology, Calibration& calibration);

/// Standard error at least as wide as that of a rate taken over from another machine.
void widen(Parameter& parameter);

/// "nvlink2@gpu0-gpu1": subject of the parameters of one cable as built. Planes of one NVSwitch group share theirs.
std::string fitted_subject(const Topology& topology, const Cable& cable);

/// Per cable of the topology as built: rates of `factor` times as much.
struct RateFactors {
  std::vector<double> factor;
  std::vector<char> wider;  ///< scaling is an assumption: less sure than the fit was
};

/// Fitted rates in proportion. Planes of one NVSwitch group carry equal stripes: the slowest sets the pace.
void scale_rates(const Topology& topology, const RateFactors& factors, Calibration& calibration);

}  // namespace linkcast
