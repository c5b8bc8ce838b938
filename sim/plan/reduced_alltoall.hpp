#pragma once
// An alltoall over many nodes from the bytes on its links, without looking at single messages. Exact: see
// reduced_alltoall.cpp.
#include <string>
#include <variant>
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/plan/alltoall_traffic.hpp"

namespace linkcast::congestion {

struct ReducedAlltoall {
  double time_s = 0;
  double wire_s = 0;          ///< least time at nominal rates, ClusterProblem::wire_bound_s()
  std::vector<int> limits{};  ///< keys in the cluster of what is busy all the time; of what is alike in all nodes, one
  double messages = 0;
  std::size_t classes = 0;   ///< pairs of switches, and of GPUs of a node, whose messages are alike
  double farthest_s = 0;     ///< latency of the fabric on the longest way
  std::vector<Use> loads{};  ///< by key, of all nodes, per byte of one message: where asked for
};

/// Why the messages cannot be taken together.
struct Irregular {
  std::string why;
};

std::variant<ReducedAlltoall, Irregular> reduce_alltoall(const Cluster& cluster, const UniformTraffic& traffic,
                                                         bool keep_loads = false);

}  // namespace linkcast::congestion
