#pragma once
// What a forecast collective says about itself, as JSON.
#include <vector>

#include "sim/collective/collective_contention.hpp"
#include "sim/collective/collective_job.hpp"
#include "sim/records/object_reader.hpp"
#include "sim/uncertainty/interval.hpp"

namespace linkcast::collective {

// Beside latency and rates: what the model of rings and messages leaves out. source: six operations on 2 to 4 H200
// (nccl_ops of occasion 20261121a, never fitted): 90 % of the points lie within 19 %
inline constexpr double kCollectiveError = 0.11;

/// GPUs of each distinct ring, or the head of each channel with multicast.
Json channels_json(const Communicator& communicator, const Taken& taken);
uncertainty::Interval interval_of(const Job& job, const Run& run);
/// What was assumed: latencies, nominal rates, a ring through host memory.
Json warnings_of(const Job& job, const Run& run);
/// Links that limit a ring or tree; of one limited by its host hops, the links of those hops.
/// @param limited_by  of each way, a constraint or kOwnCap; empty if the solver cannot tell
Json bottleneck_json(const Platform& platform, const std::vector<std::vector<Hop>>& hops,
                     const std::vector<int>& limited_by);
/// Bandwidths and what the library takes, on one node or several.
void put_run(Json& out, const Communicator& communicator, const Collective& op, double size_B, const Run& run);
/// Time, interval, bandwidths, what the library takes, bottleneck, warnings.
Json result_json(const Job& job, const Run& run);
/// The first of several collectives that start together, what the others cost it, and the others in short.
Json contended_json(const std::vector<Job>& jobs, const std::vector<Contended>& all);

}  // namespace linkcast::collective
