#pragma once
// Rings and double binary trees over several nodes in steady state as activities: one flow over all hops, limited by
// the slowest.
#include <functional>
#include <vector>

#include "sim/activities/channel_flows.hpp"
#include "sim/activities/cluster_problem.hpp"
#include "sim/plugin/communicator.hpp"

namespace linkcast::activities {

/// Adds the ring through all nodes as one activity. @param ring  number of the channel. @param closed  the last node
/// sends to the first too
int add_cluster_ring(ClusterProblem& problem, const Communicator& communicator, int ring, bool closed,
                     const ChannelLoad& load);

/// Adds one tree, the way up and the way down. @param which  0 or 1: which of the two trees between the nodes
std::vector<int> add_cluster_tree(ClusterProblem& problem, const Communicator& communicator, const Tree& chain,
                                  int which, const ChannelLoad& load);

/// Adds one tree between the nodes' GPUs of one number, as one activity: each node reduces `load.bytes` by multicast,
/// they go up and down the tree, and each node stores them by multicast. @throws InputError  as multicast_activity()
int add_multicast_tree(ClusterProblem& problem, const Communicator& communicator, int head, int which,
                       const ChannelLoad& load);
/// A chain of that GPU alone, as which the tree meets the distances of the fabric.
Tree chain_of(int head);

/// Latencies of the fabric, beyond that of neighbours, that the first byte meets on its longest way, seconds: of the
/// first ring, and of a tree.
double ring_distance_s(const Cluster& cluster, const Communicator& communicator, bool closed);
double tree_distance_s(const Cluster& cluster, const Communicator& communicator, const Tree& chain, int which);
/// The same sums over what each hop between two endpoints of the fabric takes, seconds.
using HopDelay = std::function<double(int from_endpoint, int to_endpoint)>;
double ring_delay_s(const Cluster& cluster, const Communicator& communicator, bool closed, const HopDelay& delay_s);
double tree_delay_s(const Cluster& cluster, const Communicator& communicator, const Tree& chain, int which,
                    const HopDelay& delay_s);
/// Hops between nodes from the leaf that is deepest to the root.
int tree_depth(int nodes, int which);

}  // namespace linkcast::activities
