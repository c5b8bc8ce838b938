#pragma once
// The route of one channel's bytes over several nodes in steady state, as one activity: one flow over all hops, limited
// by the slowest.
#include <functional>
#include <vector>

#include "sim/machine/communicator.hpp"
#include "sim/plan/channel_flows.hpp"
#include "sim/plan/cluster_problem.hpp"

namespace linkcast::activities {

/// Adds hops to the next activity of a problem, in bytes stored per byte of payload.
class ChannelRoute {
 public:
  ChannelRoute(ClusterProblem& problem, const ChannelLoad& load);

  /// Consumption of these hops inside a node, the same in every node.
  std::vector<Use> inside(const std::vector<Hop>& hops);
  /// Consumption of a node where one member, the head, reduces and stores its part by multicast.
  /// @param link_share  MulticastPart::link_share. @throws InputError  as multicast_activity()
  std::vector<Use> multicast(const std::vector<int>& members, int head, double link_share);
  /// Every node of the route takes this.
  void pass(int node, const std::vector<Use>& uses) { problem_.pass_constraints(node, uses, wire_share_); }
  /// From one node to another. Bytes that another GPU sends in the place of the first one are handed to it first.
  /// @param part  of the channel's bytes
  void between(ClusterGpu from, const NicWay& out, ClusterGpu to, const NicWay& in, double part = 1);
  /// Ends the route. @param bytes  payload. @param flow  with a delay, or activities before it. @returns  its index
  int add(double bytes, Activity flow = {});

 private:
  ClusterProblem& problem_;
  ProblemBuilder node_;
  double stored_, cap_Bps_, host_wait_;
  double wire_share_ = 1;  ///< part of what a node's uses say that crosses its wires
};

/// Endpoint of the fabric by which a GPU sends and receives.
int endpoint_of(const Cluster& cluster, ClusterGpu gpu, const NicWay& way);

/// Seconds of one hop between two endpoints of the fabric.
using HopDelay = std::function<double(int from_endpoint, int to_endpoint)>;
/// Delays that are the fabric's latencies beyond that of neighbours.
HopDelay distance_in(const Cluster& cluster);

}  // namespace linkcast::activities
