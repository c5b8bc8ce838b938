#pragma once
// What a replay says: times of its jobs and ranks, use of the links, what limits it.
#include <optional>
#include <string>
#include <vector>

#include "sim/replay/network.hpp"
#include "sim/replay/observer.hpp"
#include "sim/replay/summary.hpp"

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

/// Ends of a 90 % interval; none where a pipe would have to be read again, or there is nothing to have an interval.
struct ReplayInterval {
  std::optional<double> low_s{}, high_s{};
};

/// How sure a trace's CPU times are.
enum class HostTimes {
  kSure,
  kOfOneHost,  ///< recorded, or fitted to a measured step: the interval reaches from a fast host of its kind to a slow
               ///< one
  kUnsure      ///< what is left of a recording's: from none at all to those recorded, or of a slow host if longer
};

/// Of one job of a replay.
struct JobTimes {
  std::string trace;
  std::vector<int> gpus{};
  std::vector<double> steps_s{};
  std::optional<double> step_time_s{};  ///< median step; none without markers
  double exposed_communication_s = 0;   ///< median over ranks
  ReplayInterval step_interval{};
  HostTimes host = HostTimes::kSure;
  std::string compute_device{};  ///< GPU that its compute times are of; empty: not said, or it computes nothing
  std::string other_gpu{};       ///< of the machine, where that is another one
  std::vector<double> recorded_steps_s{};        ///< of the recording; empty where the trace does not say them
  std::optional<double> recorded_step_time_s{};  ///< their median
  std::vector<OperationTimes> operations{};      ///< by kind
};

/// What a rank did, of which job it is, and where.
struct RankResult {
  int rank = 0, gpu = 0, job = 0;
  RankTimes times{};
};

struct ReplayResult {
  std::string platform;  ///< name of the machine
  double makespan_s = 0;
  std::vector<JobTimes> jobs{};
  std::vector<RankResult> ranks{};
  std::vector<LinkUse> links{};
  std::vector<std::string> bottleneck{};  ///< ids of links
  CriticalPath critical_path{};
  std::string bound{};  ///< what limits it, for people: begins with host-bound, device-bound or link-bound; or empty
  std::optional<Json> utilisation{};  ///< where asked for
  long events = 0;
  std::vector<std::string> warnings{};
  std::optional<ReplayInterval> interval{};  ///< of the makespan, where asked for: jobs have theirs too
  [[nodiscard]] double utilisation_of(const LinkUse& link) const {
    return makespan_s > 0 ? link.carried_B / link.capacity_Bps / makespan_s : 0;
  }
};

/// Keys: see sim/replay/query/replay_query.cpp. Step times and exposed communication are those of the first job; of
/// several, jobs has a row for each.
Json to_json(const ReplayResult& result);

}  // namespace linkcast::replay
