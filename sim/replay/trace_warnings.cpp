#include "sim/replay/trace_warnings.hpp"

#include <algorithm>

namespace linkcast::replay {

std::vector<std::string> trace_warnings(const TraceFeed& feed, const JobTimes& job, const ReplaySummary& summary,
                                        std::size_t first_rank) {
  std::vector<std::string> warnings;
  const int recorded = feed.header().ranks, ranks = feed.ranks();
  const bool calls = std::any_of(job.operations.begin(), job.operations.end(),
                                 [](const OperationTimes& one) { return one.op != "message" && one.calls > 0; });
  if (recorded == 1 && ranks == 1 && calls)
    warnings.push_back(job.trace +
                       " is of one rank, whose collectives take no time alone: --ranks N replays it on N, "
                       "all alike");
  if (recorded > 1 && ranks != recorded)
    warnings.push_back(job.trace + " is of " + std::to_string(recorded) + " ranks and replayed on " +
                       std::to_string(ranks) + ": each computes as long and calls the same sizes as they did");
  const auto steps = [&](int rank) { return summary.markers(first_rank + static_cast<std::size_t>(rank)); };
  for (int rank = 1; rank < ranks; ++rank) {
    if (steps(rank) == steps(0)) continue;
    warnings.push_back(job.trace + " has " + std::to_string(steps(0)) + " steps of rank 0 and " +
                       std::to_string(steps(rank)) + " of rank " + std::to_string(rank) + ": it may have been cut off");
    break;
  }
  return warnings;
}

}  // namespace linkcast::replay
