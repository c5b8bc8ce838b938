#pragma once
#include <string>
#include <vector>

#include "sim/replay/replay_run.hpp"
#include "sim/replay/summary.hpp"

namespace linkcast::replay {

/// Of one job, for people: ranks that the trace was not recorded with, and steps that some ranks have not.
/// @param job  its times. @param first_rank  of all jobs
std::vector<std::string> trace_warnings(const TraceFeed& feed, const JobTimes& job, const ReplaySummary& summary,
                                        std::size_t first_rank);

}  // namespace linkcast::replay
