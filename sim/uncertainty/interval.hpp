#pragma once
// How sure a prediction is: a 90 % interval around a time.
#include <string>
#include <vector>

#include "sim/activities/plan.hpp"
#include "sim/platform/platform.hpp"
#include "sim/records/learned.hpp"

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
  /// Parameters' errors, which may hang together.
  void add(const Calibration& calibration, const std::vector<ErrorPart>& parts) {
    variance_ += variance_of(calibration, parts);
  }
  [[nodiscard]] Interval around(double time_s) const;

 private:
  double variance_ = 0;
};

/// Collectives whose forecasts err alike: of NCCL and its like, or of an MPI, in one node or between nodes.
struct Kind {
  bool messages = false;  ///< rounds of messages: an MPI
  int nodes = 1;
};
/// What forecasts of this kind are off by beside their parameters: how far collectives of this machine lie from what
/// was fitted to them, and what was left out of fits from its forecast (calibrate/data/left_out.py). More the more
/// nodes there are.
double misfit_of(const Calibration& calibration, const Kind& kind, double size_B);

/// What a forecast is off by that lies so many doublings beyond what was measured. @param kind  left_out.nodes_doubled,
/// left_out.size_doubled; a wide assumption, once, where nothing says it
double scatter_of_doublings(const Calibration& calibration, const std::string& kind, double doublings);

/// Scatter of a kind of forecast at a size: a transport, or "collective" in a node and "collective_network" between
/// nodes, of an MPI "mpi_collective" and "mpi_collective_network".
/// @returns  null where never measured
const Scatter* scatter_of_kind(const Calibration& calibration, const std::string& kind, double bytes);
/// Scatter of single measurements of a transport at a size, as seen by the fit; a wide assumption where never measured.
double scatter_of(const Calibration& calibration, const std::string& transport, double bytes);

}  // namespace linkcast::uncertainty
