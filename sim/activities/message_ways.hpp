#pragma once
// What one message of a library consumes in the nodes of a cluster, the same in every node.
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/platform/cluster.hpp"

namespace linkcast::activities {

/// Constraints of one node, consumed per byte of payload, and the most payload that passes, bytes/s.
struct NodeWay {
  std::vector<Use> uses;
  double rate_cap_Bps = 0;  ///< infinite if the constraints alone limit it
};

/// By member: its place in the list of a node's GPUs.
struct MessageWays {
  std::vector<NodeWay> out, in;              ///< to and from the NIC
  std::vector<std::vector<NodeWay>> inside;  ///< from, to; empty where both are the same
};

/// @param gpus  members of each node
/// @param stored  bytes on the links per byte of payload
MessageWays message_ways(const Cluster& cluster, const std::vector<int>& gpus, double stored);

}  // namespace linkcast::activities
