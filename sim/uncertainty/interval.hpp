#pragma once
// How sure a prediction is: a 90 % interval around a time.
#include <string>
#include <vector>

#include "sim/activities/plan.hpp"
#include "sim/platform/platform.hpp"

namespace linkcast::uncertainty {

struct Interval {
  double low_s = 0, high_s = 0;
};

using activities::Spread;
/// @param time_s  0: no time, no spread
Spread spread_of(const Interval& interval, double time_s);

/// Independent contributions to the uncertainty of ln(time), as standard deviations.
class Uncertainty {
 public:
  void add(double sigma_log) { variance_ += sigma_log * sigma_log; }
  [[nodiscard]] Interval around(double time_s) const;

 private:
  double variance_ = 0;
};

/// Scatter of a kind of forecast at a size: a transport, "collective" in a node or "collective_network" between nodes.
/// @returns  null where never measured
const Scatter* scatter_of_kind(const Calibration& calibration, const std::string& kind, double bytes);
/// Scatter of single measurements of a transport at a size, as seen by the fit; a wide assumption where never measured.
double scatter_of(const Calibration& calibration, const std::string& transport, double bytes);

}  // namespace linkcast::uncertainty
