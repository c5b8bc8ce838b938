#pragma once
// How sure a prediction is: a 90 % interval around a time.
#include <string>
#include <string_view>
#include <vector>

#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"
#include "sim/records/learned.hpp"

namespace linkcast::uncertainty {

struct Interval {
  double low_s = 0, high_s = 0;
};

using activities::Spread;
/// @param time_s  0: no time, no spread
Spread spread_of(const Interval& interval, double time_s);

/// One labelled part of a forecast's time and of its uncertainty.
struct Term {
  std::string_view label{};                 ///< one of kTerms
  double seconds = 0;                       ///< 0: no part of the time, a spread alone
  ErrorPart spread{};                       ///< of ln(time): standard deviation, signed
  std::string_view source{};                ///< where value or spread come from: kMeasured, ...
  const ParameterRow* parameter = nullptr;  ///< that it follows from; null: from none, or from several
};
/// Labels: start-up of the whole, hops one after the other, bytes on the tightest link or thread block, chunks and
/// turns that bytes wait for, others on the same links, parts that do not begin at 16 bytes, hops through host memory,
/// latency of the fabric and waits there, calls of the host, residuals of fits and what nobody measured.
namespace term {
inline constexpr std::string_view kBase = "base", kHops = "hops", kSerialisation = "serialisation",
                                  kFilling = "filling", kContention = "contention", kAlignment = "alignment",
                                  kHostPath = "host path", kDistance = "distance", kLaunch = "launch", kNoise = "noise",
                                  kMisfit = "misfit", kReduction = "reduction", kStaging = "staging";
}  // namespace term
/// Sources.
inline constexpr std::string_view kMeasured = "measured", kTable = "library's table", kAssumed = "assumed",
                                  kScatter = "scatter of measurements";

/// The list of a forecast's terms, from which its interval follows.
class Uncertainty {
 public:
  /// Independent of all others. @param sigma_log  standard deviation of ln(time)
  void add(std::string_view label, double sigma_log, std::string_view source = kAssumed) {
    variance_ += sigma_log * sigma_log;
    terms_.push_back({label, 0, ErrorPart(sigma_log), source});
  }
  /// Terms of parameters, whose errors may hang together.
  void add(const Calibration& calibration, const std::vector<Term>& terms);
  /// A part of the time that is as sure as the others say.
  void add_part(std::string_view label, double seconds) { terms_.push_back({label, seconds}); }
  [[nodiscard]] const std::vector<Term>& terms() const { return terms_; }
  /// The only place where a forecast gets its interval. Its lower end is not below what the wires allow.
  /// @param wire_s  least time that its bytes can take (ClusterProblem::wire_bound_s), 0 of what moves none. Where
  ///                measured rates exceed nominal ones the time itself is the bound
  [[nodiscard]] Interval around(double time_s, double wire_s) const;

 private:
  double variance_ = 0;
  std::vector<Term> terms_{};
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

/// Error of a rate beyond the measured sizes: a rate settles at what the links allow, so that its error is at most that
/// of a transport that was never measured, or of one doubling.
double scatter_beyond_sizes(const Calibration& calibration, double doublings);

/// Scatter of a kind of forecast at a size: a transport, or "collective" in a node and "collective_network" between
/// nodes, of an MPI "mpi_collective" and "mpi_collective_network".
/// @returns  null where never measured
const Scatter* scatter_of_kind(const Calibration& calibration, const std::string& kind, double bytes);
/// Scatter of single measurements of a transport at a size, as seen by the fit; a wide assumption where never measured.
double scatter_of(const Calibration& calibration, const std::string& transport, double bytes);

}  // namespace linkcast::uncertainty
