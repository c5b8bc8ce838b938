#pragma once
// What one message of a library consumes in the nodes of a cluster, the same in every node.
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/machine/communicator.hpp"

namespace linkcast::activities {

// Where what crosses the network leaves or enters a node.

/// A GPU and the NIC of its node by which it talks to others.
struct NetworkEnd {
  ClusterGpu gpu;
  int nic = 0;          ///< number in the cluster
  bool staged = false;  ///< host memory lies between them
};

/// The GPU that has the way to the NIC: the one that sends in the place of `gpu`, if there is one.
NetworkEnd network_end(const Cluster& cluster, ClusterGpu gpu, const NicWay& way);
/// Links of its node from the GPU to the NIC, and the same cables the other way.
std::vector<int> links_out(const Cluster& cluster, const NetworkEnd& end);
std::vector<int> links_in(const Cluster& cluster, const NetworkEnd& end);

/// Constraints of one node, consumed per byte of payload, and the most payload that passes, bytes/s.
struct NodeWay {
  std::vector<Use> uses;
  double rate_cap_Bps = 0;  ///< infinite if the constraints alone limit it
};

/// By member: its place in the list of a node's GPUs.
struct MessageWays {
  std::vector<std::vector<NodeWay>> out;     ///< to the NIC, of a message to that member of another node
  std::vector<NodeWay> in;                   ///< from the NIC
  std::vector<std::vector<NodeWay>> inside;  ///< from, to; empty where both are the same
};

/// Of which NICs messages between nodes take, by member: Communicator::exits.
using Exits = std::vector<std::vector<NicWay>>;
/// Way to the NIC of a message to member `to` of another node, and from the NIC next to a member.
NicWay way_out(const Exits& exits, std::size_t from, std::size_t to);
NicWay way_in(const Exits& exits, std::size_t member);

/// @param gpus  members of each node
/// @param stored  bytes on the links per byte of payload
MessageWays message_ways(const Cluster& cluster, const std::vector<int>& gpus, const Exits& exits, double stored);

}  // namespace linkcast::activities
