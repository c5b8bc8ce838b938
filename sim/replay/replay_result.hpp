#pragma once
// What a replay says: times of its jobs and ranks, use of the links, what limits it.
#include <optional>
#include <string>
#include <vector>

#include "sim/replay/critical_path.hpp"
#include "sim/replay/network.hpp"
#include "sim/replay/operations.hpp"
#include "sim/replay/summary.hpp"

namespace linkcast::replay {

/// Ends of a 90 % interval; none where a pipe would have to be read again, or there is nothing to have an interval.
struct ReplayInterval {
  std::optional<double> low_s{}, high_s{};
};

/// How sure a trace's CPU times are.
enum class HostTimes {
  kSure,
  kAnchored,  ///< fitted to a measured step: the interval reaches from a fast spell of the host to a slow one
  kUnsure     ///< what is left of a recording's: from none at all to those recorded
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
