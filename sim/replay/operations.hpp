#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/replay/observer.hpp"

namespace linkcast::replay {

/// What one kind of collective, or messages, cost a rank: the mean of those ranks that take part, over all steps.
struct OperationTimes {
  std::string op;                         ///< "message" for sends and receives
  double calls = 0;                       ///< that it takes part in
  double size_B = 0;                      ///< of these, as nccl-tests counts
  double time_s = 0;                      ///< on the network, from when all ranks of a call had come
  double exposed_s = 0;                   ///< on a stream, waiting or moving, while nothing computes or copies
  double bus_bandwidth_Bps = 0;           ///< of all calls together, as nccl-tests defines it; 0 where none took time
  std::optional<double> recorded_s = {};  ///< time_s of the recording, where the trace says it of each call
  std::optional<double> recorded_bus_bandwidth_Bps = {};
};

/// Adds up a replay's collectives and messages by kind; keeps nothing of single calls.
class Operations final : public ReplayObserver {
 public:
  explicit Operations(std::size_t ranks) : ranks_(ranks) {}

  void starts(const std::vector<ReplayRank>& ranks) override;
  void begins(int rank, const FedEvent& event, double now_s) override;
  void ends(int rank, const FedEvent& event, double now_s) override;
  void moved(const Exchange& exchange) override;

  /// Of one job, sorted by name. @param ranks  first and one past last
  [[nodiscard]] std::vector<OperationTimes> times(std::size_t first_rank, std::size_t end_rank) const;

 private:
  /// Of one kind: messages first, then collectives by their numbers in the feed.
  struct Sum {
    int open = 0;      ///< on streams now
    bool met = false;  ///< the rank has had one
    long calls = 0, recorded_calls = 0;
    double size_B = 0, bus_B = 0, time_s = 0, exposed_s = 0, recorded_s = 0;
  };
  struct State {
    std::vector<Sum> sums{};
    int computing = 0;
    double updated_s = 0;
    const TraceFeed* feed = nullptr;
  };
  /// What nccl-tests multiplies by, of what was asked last.
  struct BusFactor {
    const TraceFeed* feed = nullptr;
    int op = Exchange::kMessage;
    std::size_t ranks = 0;
    double factor = 1;
  };
  static void bring_up(State& state, double now_s);
  static Sum& sum_at(State& state, std::size_t place);
  double bus_factor(const TraceFeed* feed, const Exchange& exchange);

  std::vector<State> ranks_;
  BusFactor bus_factor_{};
};

}  // namespace linkcast::replay
