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
/// @param link_share  MulticastPart::link_share
int add_multicast_tree(ClusterProblem& problem, const Communicator& communicator, int head, int which,
                       const ChannelLoad& load, double link_share);

/// How a node makes one sum of its GPUs' data, and gives the result to them, where the switches between nodes reduce.
enum class InNode { kMulticast, kDirect, kChain };
/// Adds the part of one head: its node's sum goes to the switches of the fabric once, and comes back reduced once.
/// What a switch passes on goes, as far as our links tell, to the next node in order.
/// @param chain  from the head on through the node, of kChain. @param link_share  of kMulticast
/// @source  NVIDIA, Scalable Hierarchical Aggregation and Reduction Protocol (SHARP): switches reduce on the way up
int add_switch_reduction(ClusterProblem& problem, const Communicator& communicator, const Channel& chain, InNode inside,
                         const ChannelLoad& load, double link_share);
/// Adds one channel of parallel aggregated trees among single GPUs of nodes, as one activity: every GPU is the root of
/// a binomial tree whose farthest branch comes first, and what goes the same way goes together.
/// @param load  bytes that each GPU sends
/// @source  S. Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at scale (2025)
int add_aggregated_trees(ClusterProblem& problem, const Communicator& communicator, const Channel& channel,
                         const ChannelLoad& load);
/// Part of what a rank sends that goes 2^k ranks on, for each k: of parallel aggregated trees.
std::vector<double> aggregated_shares(int ranks);
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
/// To the farthest node and back: once through the switches that reduce.
double reduction_delay_s(const Cluster& cluster, const Communicator& communicator, const Channel& channel,
                         const HopDelay& delay_s);
/// Of the tree of parallel aggregated trees whose root is the first rank: one hop of each length.
double aggregated_delay_s(const Cluster& cluster, const Communicator& communicator, const Channel& channel,
                          const HopDelay& delay_s);
/// Delays that are the fabric's latencies beyond that of neighbours.
HopDelay distance_in(const Cluster& cluster);
/// Hops between nodes from the leaf that is deepest to the root.
int tree_depth(int nodes, int which);

}  // namespace linkcast::activities
