#pragma once
// The terms of a forecast, from which its time and its 90 % interval follow.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/plan.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast::uncertainty {

struct Interval {
  double low_s = 0, high_s = 0;
};

/// Seconds on the host, with the ends of its 90 % interval.
struct HostTime {
  double s = 0, low_s = 0, high_s = 0;
};

using activities::Spread;
/// @param time_s  0: no time, no spread
Spread spread_of(const Interval& interval, double time_s);

/// One labelled part of a forecast's time and of its uncertainty.
struct Term {
  std::string_view label{};                 ///< one of kTerms
  double seconds = 0;                       ///< 0: no part of the time, a spread alone
  ErrorPart spread{};                       ///< of ln(time): standard deviation, signed
  std::string_view source{};                ///< where value and spread come from: kMeasured, ...
  const ParameterRow* parameter = nullptr;  ///< that it follows from; null: from none, or from several
};
/// Labels: start-up of the whole, hops one after the other, bytes on the tightest link or thread block, chunks and
/// turns that bytes wait for, others on the same links and copies of the same GPU in the other direction, parts that do
/// not begin at 16 bytes, hops through host memory, latency of the fabric and waits there, calls of the host, residuals
/// of fits and what nobody measured, what a library may run instead.
namespace term {
inline constexpr std::string_view kBase = "base", kHops = "hops", kSerialisation = "serialisation",
                                  kFilling = "filling", kContention = "contention", kAlignment = "alignment",
                                  kHostPath = "host path", kDistance = "distance", kLaunch = "launch", kNoise = "noise",
                                  kMisfit = "misfit", kReduction = "reduction", kStaging = "staging",
                                  kChoice = "choice";
}  // namespace term
/// Sources; the provenance of a parameter (Parameter::provenance) is one too. kPrior is a prior beside measurements.
inline constexpr std::string_view kMeasured = "measured", kTable = "library's table", kAssumed = "assumed",
                                  kNominal = "nominal rate", kPrior = "believed", kOtherMachines = "other machines",
                                  kScatter = "scatter of measurements";
/// Provenance of a looked-up figure, or `prior`.
std::string_view source_of(const Learned& figure, std::string_view prior);
/// Provenance of the calibration's parameter that a figure of a machine is, or `otherwise` where it stands in.
std::string_view source_of(const Calibration& calibration, const Resolved& figure,
                           std::string_view otherwise = kAssumed);
/// From measurements of this machine or another, not a table or an assumption.
bool from_data(std::string_view source);
/// As answers name it: "measured", "inherited from hgx-h200", "derived from measurements", ...
std::string source_text(std::string_view source);

/// Part of a host, added to devices that work through its calls, one behind the other: it issues call i + 1 while they
/// work on call i, so that the slower of both sets the pace; the first call and the wait after the last are waited for
/// whole.
///   n calls take host + (n - 1) max(host, device) + device + wait
struct HostPart {
  HostTime issue{}, wait{};
  int calls = 1;           ///< time and interval are of one of them; 0: calls without end, max(host, device) each
  bool in_engine = false;  ///< of one call: the engine ran the issuing too
  std::string_view source = kMeasured;
};
/// Seconds a call. @param host_s, device_s  that each takes for one. @param calls  as in HostPart
double paced_s(double host_s, double device_s, double wait_s, int calls);

/// The list of a forecast's terms: its time and its interval follow from it.
class Terms {
 public:
  /// @param calibration  outlives the list. @param device_s  that the engine ran
  Terms(const Calibration& calibration, double device_s) : Terms(calibration, device_s, {device_s, device_s}) {}
  /// @param ends  of what the engine ran, where it drew several orders
  Terms(const Calibration& calibration, double device_s, const Interval& ends)
      : calibration_(&calibration), device_s_(device_s), row_s_(device_s), chosen_s_(device_s), ends_(ends) {}

  /// Independent of all others. @param sigma_log  standard deviation of ln(time)
  void add(std::string_view label, double sigma_log, std::string_view source = kAssumed) {
    terms_.push_back({label, 0, ErrorPart(sigma_log), source});
  }
  /// One of several copies, independent of all others: the largest of each label counts, and its source.
  void add_largest(std::string_view label, double sigma_log, std::string_view source);
  /// Terms of parameters, whose errors may hang together.
  void add(const std::vector<Term>& terms) { terms_.insert(terms_.end(), terms.begin(), terms.end()); }
  /// Independent of all others, once a label and source: the first counts.
  void add_once(std::string_view label, double sigma_log, std::string_view source);
  /// A part of device_s(): joins the first term of this label, whose spread and source are its own.
  /// @param source  where there is none. @param seconds  0 or what rounding leaves of it: nothing is added
  void add_part(std::string_view label, double seconds, std::string_view source = kAssumed);
  /// The lower end is not below what the wires allow.
  /// @param wire_s  least time that the bytes can take (ClusterProblem::wire_bound_s). Where measured rates exceed
  ///                nominal ones the time itself is the bound
  void bound(double wire_s) { wire_s_ = wire_s; }
  /// The devices may, with a probability, do something else instead, which takes so long.
  void mix(double share, double time_s, const Interval& interval) { others_.push_back({share, time_s, interval}); }
  /// The time is that of all that the devices may do, not that of what the terms are of.
  /// @param row_s  time of the latter, if they do it. @param time_s  of all
  void choose(double row_s, double time_s) {
    row_s_ = row_s;
    chosen_s_ = time_s;
  }
  /// A host issues it. At both ends of the interval host and devices are taken together.
  void issue(const HostPart& host) { host_ = host; }

  /// Seconds, with what the host adds.
  [[nodiscard]] double time_s() const;
  /// Seconds of it on the devices, without the host's issuing.
  [[nodiscard]] double device_s() const;
  /// Ends of 90 % around time_s().
  [[nodiscard]] Interval interval() const;
  /// All terms, as parts of time_s() and of its spread: with a host, of the slower of both nearly all, of the other its
  /// part of the first call and of the wait.
  [[nodiscard]] std::vector<Term> list() const;

 private:
  [[nodiscard]] Interval devices() const;
  /// First of a label; null: none.
  [[nodiscard]] Term* find(std::string_view label);

  const Calibration* calibration_;
  struct Other {
    double share, time_s;
    Interval interval;
  };
  /// Ends of 90 % of all that the devices may do. @param own  of what the terms are of
  [[nodiscard]] Interval mixture(const Interval& own) const;
  [[nodiscard]] double variance() const;

  double device_s_;          ///< sum of the terms
  double row_s_, chosen_s_;  ///< choose()
  double wire_s_ = 0;
  std::vector<Other> others_{};
  Interval ends_;
  std::vector<Term> terms_{};
  std::optional<HostPart> host_{};
};

/// Terms as objects of an answer, one a label, those that are nothing left out: label, time_s, time_share,
/// spread (of ln(time)), uncertainty_share (of the variance of ln(time); below 0 where it takes back what another
/// adds), source (that of most of its time, then of its variance), sources (where there are several), parameter (that
/// with most of the variance), parameters (where there are several).
std::vector<Json> explained(const Calibration& calibration, const std::vector<Term>& terms, double time_s);
/// Names the parts of a time that figures of other machines decide, on a machine that measured others itself; empty:
/// none does, or the calibration says so already (Calibration::notes). Launching::warning() speaks of hosts.
/// @param machine  its name
std::string inherited_warning(const Calibration& calibration, const std::string& machine,
                              const std::vector<Term>& terms, double time_s);
void put_interval(Json& out, double time_s, const Interval& interval);

/// Collectives whose forecasts err alike: of NCCL and its like, or of an MPI, in one node or between nodes.
struct Kind {
  bool messages = false;  ///< rounds of messages: an MPI
  int nodes = 1;
  std::string_view op{};
};
/// Error of forecasts of this kind besides that of their parameters: how far collectives of this machine lie from what
/// was fitted to them, and what was left out of fits from its forecast (calibrate/data/left_out.py); between nodes the
/// latter alone has no part where this operation was fitted: it is the error of those that were not. More with each
/// doubling of nodes beyond those measured.
double misfit_of(const Calibration& calibration, const Kind& kind, double size_B);

/// Source of misfit_of().
std::string_view misfit_source(const Calibration& calibration, const Kind& kind);

/// Error of a forecast that lies so many doublings beyond the measured data; a wide assumption, once, where nothing
/// says it. @param kind  left_out.nccl_nodes_doubled, left_out.mpi_nodes_doubled, left_out.size_doubled
double scatter_of_doublings(const Calibration& calibration, const std::string& kind, double bytes, double doublings);

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
