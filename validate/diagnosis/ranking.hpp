#pragma once
// Which fault explains what was measured, and whether any is needed.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "validate/diagnosis/cause.hpp"
#include "validate/diagnosis/noise.hpp"

namespace linkcast::diagnosis {
// Effect of a fault on every measured point: forecasts with it over forecasts without.

struct Effect {
  Cause cause;
  std::vector<std::vector<double>> shifts;  ///< of each trial: ln(time with it / time without) of each point
};

/// Effects of the causes on some points. What no point shows, or what cannot be forecast, is left out.
/// @param platform  id without edits. @param edits  of the machine that is expected
/// @param points  that were compared with that machine
std::vector<Effect> effects_of(catalogue::Catalogue& catalogue, const std::string& platform,
                               const std::vector<std::string>& edits,
                               const std::vector<validate::ComparedPoint>& points, std::vector<Cause> causes);

class HealthyNoise;

/// A part that may have the fault.
struct Candidate {
  std::string part, text;  ///< gpu3; "gpu0-gpu4 without 1 link"
  double times = 1;        ///< of graded faults: so many times slower
  std::vector<std::string> edits{};
  double log_ratio = 0;  ///< ln(likelihood with it / likelihood of a healthy machine), over all degrees of it
  std::size_t effect = 0, trial = 0;
};

/// One kind of fault and the parts that may have it.
struct RankedKind {
  CauseKind kind{};
  double log_ratio = 0;               ///< mean over its parts
  double share = 0;                   ///< of the likelihood of all kinds
  std::vector<Candidate> candidates;  ///< that the log cannot tell from the best, which is first
};

struct Ranking {
  double log_ratio = 0;  ///< mean over the kinds: how much likelier any fault is than none
  double alarm = 0;      ///< log_ratio that one healthy machine of 1 / kFalseAlarm reaches, at least worth a mention
  double misfit = 0;     ///< chance that a healthy machine is as unlikely
  std::vector<RankedKind> kinds;  ///< likeliest first
  [[nodiscard]] bool faulty() const { return !kinds.empty() && log_ratio > alarm; }
  /// Leaves out kinds of fault: as unlikely as can be. @param keeps  of a kind
  void keep(const std::function<bool(const RankedKind&)>& keeps);
};

/// A point that a fault changes less says nothing of it. source: ours, the scatter of one figure
inline constexpr double kTelling = 0.01;

/// Two faults whose likelihoods differ by less are not told apart, nor is a fault from a healthy machine. source: Kass
/// and Raftery, Bayes Factors, J. Am. Stat. Assoc. 90, 1995, section 3.2: below 3 "not worth more than a bare mention"
inline constexpr double kSameEvidence = 3;
/// A healthy machine is called faulty so often, and odd so often. source: ours, the aim of 98 % healthy in two parts
inline constexpr double kFalseAlarm = 0.015, kOddAlarm = 0.005;

/// What does not depend on the measured times, so that many logs of one kind are ranked fast.
class Ranker {
 public:
  /// @param points  with as many shifts in each trial of each effect
  /// @param mild_is_healthy  a fault of the whole machine must be likelier than less than 5.7 % of it, too: beside a
  ///                         forecast, not beside the machine's own fleet
  Ranker(const std::vector<Judged>& points, std::vector<Effect> effects, bool mild_is_healthy);
  /// @param residuals  ln(measured / expected) of each point
  [[nodiscard]] Ranking rank(const std::vector<double>& residuals) const;
  [[nodiscard]] const std::vector<Effect>& effects() const;
  /// ln(time with a candidate's fault / time without) of each point.
  [[nodiscard]] const std::vector<double>& shifts_of(const Candidate& candidate) const;
  [[nodiscard]] const HealthyNoise& noise() const;

 private:
  class Parts;
  std::shared_ptr<const Parts> parts_;
};

}  // namespace linkcast::diagnosis
