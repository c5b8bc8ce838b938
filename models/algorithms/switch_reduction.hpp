#pragma once
// Algorithms by switches between nodes that reduce (CollNet, SHARP).
#include <functional>
#include <string>
#include <vector>

#include "sim/forecast/collective_plan.hpp"

namespace linkcast {

/// Consumption of a node where the GPUs' data become one sum at the head of a channel, and the result comes back.
using SumInNode = std::function<std::vector<Use>(activities::ChannelRoute& route, const Channel& chain)>;

/// Each channel's head sends its node's sum up to the switches of the fabric once and gets the result once. What a
/// switch passes on goes, as far as our links tell, to the next node in order.
/// @param plan  gets the parts of the heads
/// @source  NVIDIA, Scalable Hierarchical Aggregation and Reduction Protocol (SHARP): switches reduce on the way up
void add_switch_reductions(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
                           const SumInNode& inside, collective::CollectivePlan& plan);
/// To the farthest node and back: once through the switches.
double switch_reduction_s(const collective::CollectiveJob& job, const activities::HopDelay& delay_s);
/// Rates of a ring's blocks, all steps as the library's table of the algorithm says, or its rows.
collective::CollectiveCost switch_reduction_cost(const collective::CostRequest& request, const std::string& algorithm,
                                                 const key::SwitchRows& rows);
/// Spread of what no data of ours shows, of several nodes.
double switch_reduction_spread(const collective::CollectiveJob& job);
std::string switch_reduction_warning();

/// The GPU of a channel that talks to switches or to other nodes' GPUs of the same number, and the fabric's end there.
ClusterGpu entry_of(int node, const Channel& channel);
int card_of(const Cluster& cluster, int node, const Channel& channel);

}  // namespace linkcast
