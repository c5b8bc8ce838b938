#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "sim/replay/observer.hpp"

namespace linkcast::replay {

/// What the longest chain of dependencies up to some moment consists of. Carried along with each event, so that no
/// event has to be kept.
struct CriticalPath {
  /// kCopy: with the host; between GPUs is network, in a GPU's own memory compute.
  enum Part : std::size_t { kHost, kLaunch, kCompute, kCopy, kNetwork, kParts };
  std::array<double, kParts> seconds{};

  [[nodiscard]] CriticalPath with(Part part, double more_s) const {
    CriticalPath longer = *this;
    longer.seconds[part] += more_s;
    return longer;
  }
};

/// What limits a replay, for people: "host-bound", "device-bound" or "link-bound" by the largest part of the critical
/// path, and what that means for links. Launches count as the GPUs' own. Empty where nothing takes time.
std::string bound_of(const CriticalPath& path);

/// Where the time of each rank went. Times are of the GPU; at any moment a rank counts once in each line that fits.
struct RankTimes {
  double compute_s = 0;        ///< something computes or copies
  double communication_s = 0;  ///< a collective or message is on a stream, waiting or moving
  double exposed_s = 0;        ///< and nothing computes or copies meanwhile
  double waiting_s = 0;        ///< part of communication_s in which the others had not all come
  double idle_s = 0;           ///< none of these, until the rank's last event
};

/// Adds up what a replay tells; keeps nothing of single events.
class ReplaySummary final : public ReplayObserver {
 public:
  explicit ReplaySummary(std::size_t ranks) : ranks_(ranks), steps_(ranks), recorded_s_(ranks) {}

  void begins(int rank, const FedEvent& event, double now_s) override;
  void meets(int rank, const FedEvent& event, double now_s) override;
  void ends(int rank, const FedEvent& event, double now_s) override;
  void step(int rank, const FedEvent& event, int step, double now_s) override;

  [[nodiscard]] const RankTimes& times(std::size_t rank) const { return ranks_[rank].times; }
  /// Of what has happened until a moment that is not before the last event.
  [[nodiscard]] RankTimes times_until(std::size_t rank, double now_s) const;
  /// Steps that a rank has ended.
  [[nodiscard]] std::size_t markers(std::size_t rank) const { return steps_[rank]; }
  [[nodiscard]] double makespan_s() const { return makespan_s_; }
  /// What each step of one job took in the recording: the median rank. Empty where the trace does not say it of every
  /// step and rank. @param ranks  first and one past last
  [[nodiscard]] std::vector<double> recorded_steps(std::size_t first_rank, std::size_t end_rank) const;

 private:
  struct State {
    RankTimes times;
    int computing = 0, communicating = 0, waiting = 0;
    double updated_s = 0;
  };
  static void bring_up(State& state, double now_s);

  std::vector<State> ranks_;
  std::vector<std::size_t> steps_;               ///< passed, by rank
  std::vector<std::vector<double>> recorded_s_;  ///< by rank, of those steps that say it
  double makespan_s_ = 0;
};

}  // namespace linkcast::replay
