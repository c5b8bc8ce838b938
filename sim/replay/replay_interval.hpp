#pragma once
// The interval of a replay: further runs, with every network operation at one end of its own interval.
#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/replay/flow_network.hpp"
#include "sim/replay/network.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/replay_request.hpp"
#include "sim/replay/replay_result.hpp"

namespace linkcast::replay {

// What a replay is made of: its network, and its jobs on GPUs.

/// @param gpus  of the machine. @param runs  that take the events of the same reading
/// @throws InputError  no such trace, or no such place for it
std::vector<ReplayJob> jobs_of(const ReplayRequest& request, const std::string& data_dir, int gpus, int runs = 1);

/// Of all jobs.
std::size_t ranks_of(const std::vector<ReplayJob>& jobs);

/// @param plans  of all networks of the same request; null: it makes its own
std::unique_ptr<ReplayNetwork> network_of(catalogue::Catalogue& catalogue, const ReplayRequest& request,
                                          IntervalEnd end = IntervalEnd::kNone,
                                          std::shared_ptr<SharedPlans> plans = nullptr);

/// How sure a job's CPU times are, as far as its trace was read.
HostTimes host_of(const ReplayJob& job);

/// Median step time; none without markers.
std::optional<double> step_of(const std::vector<double>& steps);

/// What an interval is given of.
struct EndTimes {
  double makespan_s = 0;
  std::vector<std::optional<double>> step_s{};  ///< of each job; none without markers
};

/// Both runs for an interval beside the forecast's own, on the same reading of the trace and the same plans: they
/// follow it, so that little of the trace is kept. Whether there is anything to run for is seen from the first events;
/// where later ones say otherwise, they have to run again.
class BesideRuns {
 public:
  /// Of one job: of several, one may run ahead of another as far as it likes.
  static constexpr int kRuns = 3;
  static bool possible(const ReplayRequest& request) { return request.interval && request.parts.size() == 1; }

  BesideRuns(catalogue::Catalogue& catalogue, const ReplayRequest& request, Replay& own,
             std::shared_ptr<SharedPlans> plans);

  /// The forecast's own run, and these, to the end. @throws what the own run throws, or else one of these
  void run();
  /// Low and high; none: what they would have run with is not what the whole trace says.
  [[nodiscard]] std::optional<std::array<EndTimes, 2>> times() const;

 private:
  class Followed;
  struct One {
    IntervalEnd end;
    std::unique_ptr<ReplayNetwork> network{};
    std::unique_ptr<Replay> run{};
    std::exception_ptr failed{};
  };
  long follow(bool ended);
  void decide();
  void run_until(One& one, long fetched);
  [[nodiscard]] std::vector<HostTimes> hosts() const;

  catalogue::Catalogue& catalogue_;
  const ReplayRequest& request_;
  Replay& own_;
  std::shared_ptr<SharedPlans> plans_;
  std::array<One, 2> ends_{{{IntervalEnd::kLow}, {IntervalEnd::kHigh}}};
  std::vector<HostTimes> hosts_{};  ///< that they run with
  bool decided_ = false;
};

/// Adds the intervals to a result. @param beside  null: nothing ran beside. @param used  the network: else nothing is
/// unsure but CPUs
void add_intervals(ReplayResult& result, catalogue::Catalogue& catalogue, const ReplayRequest& request,
                   const BesideRuns* beside, bool used);

}  // namespace linkcast::replay
