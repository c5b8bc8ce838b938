#pragma once
// Is what was measured normal for this machine, and if not, what may be wrong with it?
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/machine/platform.hpp"
#include "sim/records/measurement.hpp"
#include "validate/compare.hpp"
#include "validate/diagnosis/noise.hpp"
#include "validate/diagnosis/ranking.hpp"
#include "validate/diagnosis/verdict.hpp"

namespace linkcast::diagnosis {

/// Pairs between which p2pBandwidthLatencyTest had no peer access although the platform allows it.
struct NoAccess {
  std::set<std::pair<std::string, std::string>> pairs{};  ///< ids of source and target
  std::string where{};  ///< "all pairs", "pairs across sockets", "gpu6", "GPUs of cpu1", or their number; empty: none
};
NoAccess without_access(const Platform& platform, const Measurement& measurement);

// Is everything, or all of one kind, slower than forecast and box allow? No point tells by itself, and no fault need be
// known.

class HealthyNoise;

/// The mean of some points beside what is expected of them.
struct Level {
  std::string part;  ///< everything; "peer copy_engine read"; where there are small and large sizes, these alone, too
  std::vector<std::size_t> places{};  ///< of its points, among the judged ones
  double times = 1;                   ///< measured over expected, geometric mean
  double low = 1, high = 1;           ///< of 90 % of healthy machines
  double least = 1;                   ///< slower by less is not told from a healthy machine
  double chance = 1;                  ///< that a healthy machine is as slow
};

/// Means of points that are tested together: `least` and `odd` share out the chance of a false alarm among them.
class Levels {
 public:
  /// @param points  in the order of the noise. @param alarm  chance that a healthy machine has an odd one
  Levels(const HealthyNoise& noise, const std::vector<validate::ComparedPoint>& points, double alarm);
  /// @param residuals  ln(measured / expected) of each point
  [[nodiscard]] std::vector<Level> of(const std::vector<double>& residuals) const;

 private:
  struct Part {
    std::string name;
    std::vector<std::size_t> places;
    Covariance variance;
    double least = 1;
  };
  std::vector<Part> parts_;
};

/// Those that are slower than `least`, the most unlikely first.
std::vector<Level> odd_levels(const std::vector<Level>& levels);

struct Diagnosis {
  validate::Comparison comparison;
  std::vector<Finding> findings;  ///< of each of the comparison's points
  int slow = 0, fast = 0, host = 0;
  std::vector<std::size_t> judged;  ///< points that are not host-bound, which the ranking is of
  Ranking ranking;
  std::vector<Level> levels;         ///< of the judged points; the first is of everything
  std::vector<SizeClass> classes{};  ///< of the judged points
  std::string no_access{};           ///< pairs without peer access although the machine allows it, as the log says
  Verdict verdict = Verdict::kNormal;
  bool accused = false;      ///< likelihoods or means are those of a faulty machine, whatever the verdict
  bool known_cause = false;  ///< of a faulty log: a known fault explains it far better than none
  [[nodiscard]] bool normal() const { return verdict == Verdict::kNormal; }
  [[nodiscard]] bool faulty() const { return verdict == Verdict::kFaulty; }
};

/// A machine and what was run on it, without the times.
class Bench {
 public:
  /// @param platform  id without edits. @param edits  of the machine that is expected
  /// @param like  any measurement of these points; its times are not used
  Bench(catalogue::Catalogue& catalogue, const std::string& platform, const std::vector<std::string>& edits,
        const Measurement& like);
  /// @param measured_s  of each point of comparison(); empty: those of `like`
  [[nodiscard]] Diagnosis diagnose(const std::vector<double>& measured_s = {}) const;
  [[nodiscard]] const validate::Comparison& comparison() const { return comparison_; }
  [[nodiscard]] const Ranker& ranker() const { return ranker_; }
  /// Points that the ranker knows, by their places in the comparison.
  [[nodiscard]] const std::vector<std::size_t>& judged() const { return judged_; }

 private:
  void find_faults(const std::vector<double>& residuals, Diagnosis& diagnosis) const;
  void conclude(Diagnosis& diagnosis) const;

  validate::Comparison comparison_;
  std::vector<std::size_t> judged_;
  NoAccess no_access_;
  std::vector<double> reaches_;  ///< of each point, so many times beyond its interval a healthy machine may lie
  Ranker ranker_;
  Levels levels_;
};

}  // namespace linkcast::diagnosis
