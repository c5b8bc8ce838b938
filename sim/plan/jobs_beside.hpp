#pragma once
// What jobs beside a collective cost each of its hops between nodes (head_of_line.hpp).
#include <functional>
#include <vector>

#include "sim/plan/cluster_problem.hpp"
#include "sim/plan/network_load.hpp"
#include "sim/plan/slowed_problem.hpp"

namespace linkcast::congestion {

/// A collective alone, whose activities move in one round or in several. Its nodes are the first of the cluster, those
/// of the jobs beside it follow (place_jobs).
struct LoneJob {
  activities::ClusterProblem& made;  ///< keeps its crossings
  const std::vector<int>& gpus;      ///< of each node, of all jobs
  int nodes = 0;
  std::vector<double> moving_s{};  ///< per activity: time of its bytes
  std::vector<int> round{};        ///< per activity: those of one number move together, each round by itself
};

/// @param out  gets "beside": what each of the others gets of what it would send, on average
/// @throws InputError  too many messages of others
CrossingSlowdown slowed_beside(const LoneJob& job, const NetworkLoad& load, Json& out);

}  // namespace linkcast::congestion
