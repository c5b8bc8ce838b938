#pragma once
// An alltoall over many nodes with one activity for each class of messages that cannot differ. Exact: see
// reduced_alltoall.cpp.
#include <string>
#include <variant>
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/forecast/message_ways.hpp"
#include "sim/platform/cluster.hpp"

namespace linkcast {

/// Every member of every node sends one message to every other member.
struct UniformTraffic {
  int nodes = 0;            ///< the first ones of the cluster
  std::vector<int> gpus{};  ///< members of each
  double bytes = 0;         ///< payload of a message
  double stored = 1;        ///< bytes on the links per byte of payload
  double rate_cap_Bps = 0;  ///< most payload of one message
};

struct ReducedProblem {
  Problem problem;            ///< an activity is one message of its class
  std::vector<int> keys;      ///< per constraint: one of its class, as key in the cluster
  double messages = 0;        ///< that the activities stand for
  double links = 0;           ///< and the constraints
  int rounds = 0;             ///< of refinement
  double farthest_s = 0;      ///< latency of the fabric on the longest way
  bool minimal_only = false;  ///< some ways are busier than ports, and detours are too many to look at
};

/// Why the messages cannot be taken together.
struct Irregular {
  std::string why;
};

std::variant<ReducedProblem, Irregular> reduce_alltoall(const Cluster& cluster, const UniformTraffic& traffic);

}  // namespace linkcast
