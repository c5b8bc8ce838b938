#include "sim/uncertainty/interval.hpp"

#include <cmath>
#include <string>

#include "sim/records/input_error.hpp"
#include "sim/units/statistics.hpp"

namespace linkcast::uncertainty {
namespace {

// A transport that was never measured on this machine. source: assumed, a factor of 1.6 either way at 90 %
constexpr double kUnmeasured = 0.3;

}  // namespace

Interval Uncertainty::around(double time_s) const {
  const double spread = std::exp(kNinetyPercentSigmas * std::sqrt(variance_));
  if (!std::isfinite(time_s) || !std::isfinite(spread))
    throw InvariantError("a forecast of " + std::to_string(time_s) + " s that is " + std::to_string(spread) +
                         " times uncertain");
  return {time_s / spread, time_s * spread};
}

Spread spread_of(const Interval& interval, double time_s) {
  return time_s > 0 ? Spread{interval.low_s / time_s, interval.high_s / time_s} : Spread{};
}

const Scatter* scatter_of_kind(const Calibration& calibration, const std::string& kind, double bytes) {
  const Scatter* nearest = nullptr;
  for (const Scatter& s : calibration.scatter) {
    if (s.transport != kind) continue;
    nearest = &s;
    if (bytes <= s.to_B) break;
  }
  return nearest;
}

double scatter_of(const Calibration& calibration, const std::string& transport, double bytes) {
  const Scatter* nearest = scatter_of_kind(calibration, transport, bytes);
  return nearest ? nearest->sigma_log : kUnmeasured;
}

}  // namespace linkcast::uncertainty
