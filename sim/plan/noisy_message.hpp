#pragma once
// Messages between nodes in network noise.
#include "sim/plan/cluster_problem.hpp"
#include "sim/plan/network_load.hpp"
#include "sim/plan/slowed_problem.hpp"

namespace linkcast::congestion {

/// Each activity is a message that crosses the fabric, by one NIC or several: its curve, measured in a quiet network,
/// is slowed down as its links are. @param made  keeps its crossings
SampleTimes noisy_message_times(activities::ClusterProblem& made, const NetworkLoad& load, Solver& solver,
                                const CrossingSlowdown& others = nullptr);
/// Without noise.
double slowed_messages_s(activities::ClusterProblem& made, const CrossingSlowdown& others, Solver& solver);
/// All times of one of its draws.
Solution noisy_messages(activities::ClusterProblem& made, const NetworkLoad& load, int sample, Solver& solver);

}  // namespace linkcast::congestion
