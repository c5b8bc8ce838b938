#include "sim/forecast/interval.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/base/input_error.hpp"
#include "sim/base/statistics.hpp"

namespace linkcast::uncertainty {
namespace {

// A transport that was never measured on this machine. source: assumed, a factor of 1.6 either way at 90 %
constexpr double kUnmeasured = 0.3;
// What MPI's collectives are off by at least where none of the machine's own were fitted, however sure its messages
// are: the rows of what was left out come on top of other machines' errors of messages, which may be larger than this
// one's. source: half of the points of MPI that were left out miss by 8 % and more in each class (docs/accuracy.md),
// 0.12 of a normal distribution
constexpr double kNoneFitted = 0.12;

}  // namespace

void Uncertainty::add(const Calibration& calibration, const std::vector<Term>& terms) {
  std::vector<ErrorPart> parts;
  parts.reserve(terms.size());
  for (const Term& term : terms) parts.push_back(term.spread);
  variance_ += variance_of(calibration, parts);
  terms_.insert(terms_.end(), terms.begin(), terms.end());
}

Interval Uncertainty::around(double time_s, double wire_s) const {
  const double spread = std::exp(kNinetyPercentSigmas * std::sqrt(variance_));
  if (!std::isfinite(time_s) || !std::isfinite(spread))
    throw InvariantError("a forecast of " + std::to_string(time_s) + " s that is " + std::to_string(spread) +
                         " times uncertain");
  return {std::max(time_s / spread, std::min(wire_s, time_s)), time_s * spread};
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

double misfit_of(const Calibration& calibration, const Kind& kind, double size_B) {
  const double bytes =
      std::nextafter(size_B, kLargest_B);  // classes of collectives contain their first size, not their last
  const std::string network = kind.nodes > 1 ? "_network" : "";
  const Scatter* fitted =
      scatter_of_kind(calibration, (kind.messages ? "mpi_collective" : "collective") + network, bytes);
  const Scatter* left_out =
      scatter_of_kind(calibration, (kind.messages ? "left_out.mpi" : "left_out.nccl") + network, bytes);
  const double own = fitted != nullptr ? fitted->sigma_log : kind.messages ? kNoneFitted : 0;
  const double sigma =
      fitted == nullptr && left_out == nullptr ? kUnmeasured : std::hypot(own, left_out ? left_out->sigma_log : 0);
  if (kind.nodes <= 2) return sigma;
  return std::hypot(sigma, scatter_of_doublings(calibration, "left_out.nodes_doubled", std::log2(kind.nodes) - 1));
}

double scatter_of_doublings(const Calibration& calibration, const std::string& kind, double doublings) {
  const Scatter* one = scatter_of_kind(calibration, kind, 0);
  return one != nullptr ? one->sigma_log * doublings : kUnmeasured;
}

double scatter_beyond_sizes(const Calibration& calibration, double doublings) {
  const char* kind = "left_out.size_doubled";
  return std::min(scatter_of_doublings(calibration, kind, doublings),
                  std::max(kUnmeasured, scatter_of_doublings(calibration, kind, 1)));
}

double scatter_of(const Calibration& calibration, const std::string& transport, double bytes) {
  const Scatter* nearest = scatter_of_kind(calibration, transport, bytes);
  return nearest ? nearest->sigma_log : kUnmeasured;
}

}  // namespace linkcast::uncertainty
