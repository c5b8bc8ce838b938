#pragma once
// What an application moves, and how long it is on the way: the sums that a profiler prints by kind of transfer.
#include <map>
#include <string>
#include <vector>

#include "sim/replay/observer.hpp"

namespace linkcast::replay {

class Traffic final : public ReplayObserver {
 public:
  void starts(const std::vector<ReplayRank>& ranks) override;
  void meets(int rank, const FedEvent& event, double now_s) override;
  void ends(int rank, const FedEvent& event, double now_s) override;

  /// {compute_s, total_s, total_B, kinds: [{name, calls, size_B, time_s}]}. Kinds are operations of collectives, the
  /// three copies, send and recv; each rank's part counts, from the moment when all had come. total_* are of the kinds.
  [[nodiscard]] Json json() const;

 private:
  static constexpr int kNone = -1;
  static constexpr double kNever = -1;
  struct Kind {
    long calls = 0;
    double size_B = 0, time_s = 0;
  };
  struct Rank {
    std::vector<double> since_s{};  ///< by stream: of what is on the way; kNever: nothing
    std::size_t feed = 0;
  };
  Kind& kind_of(std::size_t feed, const FedEvent& event);

  std::vector<Rank> ranks_;
  std::vector<const TraceFeed*> feeds_;
  std::vector<std::vector<int>> number_of_;  ///< in kinds_, by feed and place of the kind
  std::map<std::string, int> numbers_;
  std::vector<Kind> kinds_;
  double compute_s_ = 0;
};

}  // namespace linkcast::replay
