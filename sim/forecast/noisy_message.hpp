#pragma once
// Messages between nodes in network noise.
#include "sim/forecast/cluster_problem.hpp"
#include "sim/forecast/network_load.hpp"

namespace linkcast {

/// Each activity is a message that crosses the fabric, by one NIC or several: its curve, measured in a quiet network,
/// is slowed down as its links are. @param made  keeps its crossings
SampleTimes noisy_message_times(ClusterProblem& made, const NetworkLoad& load, Solver& solver);

}  // namespace linkcast
