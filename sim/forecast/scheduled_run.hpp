#pragma once
// A collective of a library that sends messages by a schedule, played: alone, or as activities that share links.
#include <string>
#include <vector>

#include "sim/forecast/collective_job.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/schedule_run.hpp"
#include "sim/plan/staging_copies.hpp"

namespace linkcast::collective {

struct ScheduledRun {
  std::string algorithm;
  Staging staging = Staging::kNone;
  activities::ScheduleTimes times;  ///< of its messages
  activities::StagingTimes copies;
  double own_s = 0;  ///< copying what a rank keeps, inside its GPU or its host, before the first message
  /// What no message does.
  [[nodiscard]] double inside_s() const { return copies.time_s() + own_s; }
  [[nodiscard]] double time_s() const { return times.time_s + inside_s(); }
};

/// Ranks of a library that has schedules: they are all that there is to its communicators. @param gpus  of each node
Communicator schedule_ranks(const std::string& library, int nodes, std::vector<int> gpus);

/// Operation of the algorithms that the job's one is run by: that of equal parts for one whose parts may differ.
std::string scheduled_operation(const CollectiveJob& job);

/// The library's choice, or the algorithm that the job forces.
std::string algorithm_of(const CollectiveJob& job);

/// With nothing else going on. @throws InputError  too many messages, of parts that differ in size
ScheduledRun run_scheduled(const CollectiveJob& job, const std::string& algorithm, Solver& solver);

/// All messages with their crossings of the fabric. @throws InputError  too many for all of them
activities::ClusterProblem scheduled_problem(const CollectiveJob& job, const ScheduledRun& run);

/// Every message an activity after those that it waits for, and the copies through the host before and after them;
/// where they are too many, one activity for all with what they take of each link on average.
/// @returns  with keys of the job's machine, without spread and warnings
activities::Plan scheduled_to_share(const CollectiveJob& job, const ScheduledRun& run);

}  // namespace linkcast::collective
