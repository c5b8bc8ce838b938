#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps-traces/import/kineto_file.hpp"

namespace linkcast::kineto {

/// Time of a piece of work without the disturbances of the recording.
struct PureWork {
  double time_s = 0;                 ///< on the GPU, alone there
  std::optional<double> slowdown{};  ///< beside a collective it takes this many times as long
  double host_s = 0;                 ///< of the CPU, from the launch before to the end of this one, without recording
  double recording_s = 0;            ///< what recording added to that in the mean, interruptions too
};

/// Cost of recording for the CPU, by kind of what is written down. source: `linkcast calibrate fit`, recording.*
struct RecordingCost {
  double operator_s = 0, collective_s = 0, call_s = 0, launch_s = 0;
  [[nodiscard]] bool none() const { return operator_s + collective_s + call_s + launch_s == 0; }
  [[nodiscard]] double of(const Recorded& recorded) const;
};

/// The same work in all steps of all ranks, seen together.
/// Kernels are slower while a collective runs on the same GPU. Ranks wait for each other, so that the same kernel was
/// recorded with and without one: their ratio is its slow-down, and is taken out of each duration.
/// CPU times scatter, because recording interrupts the CPU: the median over all repetitions stands for each, less what
/// recording costs.
class Repetitions {
 public:
  Repetitions(const std::vector<RankRecording>& ranks, const RecordingCost& cost);
  [[nodiscard]] const PureWork& pure(std::size_t rank, std::size_t work) const { return pure_[rank][work]; }
  /// Slow-down of all kernels that were seen both ways, weighted by their time; 1 if none was.
  [[nodiscard]] double slowdown() const { return slowdown_; }
  [[nodiscard]] int kernels_seen_both_ways() const { return kernels_; }

 private:
  /// Shape of the work, and how many of that shape the same step launched before.
  using Key = std::pair<std::string, int>;
  struct Seen {
    std::vector<double> alone_s{}, beside_s{}, host_s{}, recording_s{};
    double median_host_s = 0, mean_host_s = 0, median_recording_s = 0;  ///< by fit()
    std::optional<double> slowdown{};                                   ///< by fit(), of what was seen both ways
    [[nodiscard]] bool both_ways() const { return !alone_s.empty() && !beside_s.empty(); }
  };
  void look_at(const RankRecording& rank);
  void fit();
  /// @param most_host_s  what the CPU took, where the same work of other steps tells of the step before too
  [[nodiscard]] PureWork purified(const GpuWork& work, double beside, const Seen& seen, double most_host_s) const;

  RecordingCost cost_;
  std::map<Key, Seen> seen_;
  std::vector<double> first_host_s_;         ///< per rank, of its first work
  std::vector<std::vector<Key>> keys_;       ///< per rank and work
  std::vector<std::vector<double>> beside_;  ///< share of its time beside a collective
  std::vector<std::vector<PureWork>> pure_;
  double slowdown_ = 1;
  int kernels_ = 0;
};

/// Median; 0 of nothing.
double median(std::vector<double> values);

}  // namespace linkcast::kineto
