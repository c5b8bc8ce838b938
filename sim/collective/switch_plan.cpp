#include "sim/collective/switch_plan.hpp"

#include <algorithm>

#include "sim/activities/channel_flows.hpp"
#include "sim/collective/collective_plan.hpp"
#include "sim/units/index.hpp"

namespace linkcast::collective {
namespace {

using activities::InNode;

/// Most payload per second that `blocks` thread blocks move. @param between  with a proxy at each NIC
double blocks_Bps(const CollectiveCost& cost, double blocks, bool between) {
  return blocks * (between ? std::min(cost.channel_Bps, cost.network_Bps) : cost.channel_Bps);
}

double blocks_of_each(const CollectivePlan& made, std::size_t parts) {
  return static_cast<double>(made.taken.blocks) / static_cast<double>(parts);
}

/// Each head does one part.
void plan_in_node(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& made) {
  const std::vector<int> heads = multicast_heads(job.communicator);
  const CollectiveTraits traits = job.op.traits();
  made.busiest_B = job.size_B / static_cast<double>(heads.size());
  for (const int head : heads) {
    const activities::MulticastPart part{made.busiest_B, traits.reduces, traits.gathers, made.cost.link_share};
    Activity flow = activities::multicast_activity(problem.in_node(), job.communicator.gpus, head, part);
    flow.rate_cap_Bps = std::min(
        flow.rate_cap_Bps, blocks_Bps(made.cost, blocks_of_each(made, heads.size()), false) * flow.work_B / part.bytes);
    problem.add_in_node(0, std::move(flow));
    made.hops.emplace_back();
  }
}

/// Half of a head's part on each of two trees between the nodes.
void plan_multicast_trees(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& made) {
  constexpr int kTrees = 2;
  const std::vector<int> heads = multicast_heads(job.communicator);
  made.busiest_B = job.size_B / static_cast<double>(heads.size());
  const activities::ChannelLoad load{made.busiest_B / kTrees, made.taken.payload_share,
                                     blocks_Bps(made.cost, blocks_of_each(made, kTrees * heads.size()), true)};
  for (const int head : heads)
    for (int which = 0; which < kTrees; ++which)
      activities::add_multicast_tree(problem, job.communicator, head, which, load, made.cost.link_share);
}

/// Each channel's head sends its node's sum up to the switches and gets the result.
void plan_collnet(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& made) {
  const std::vector<Channel>& channels = job.communicator.channels;
  const InNode inside = by_multicast(made.taken)                   ? InNode::kMulticast
                        : made.taken.algorithm == "collnet_direct" ? InNode::kDirect
                                                                   : InNode::kChain;
  made.busiest_B = job.size_B / static_cast<double>(channels.size());
  const activities::ChannelLoad load{made.busiest_B, made.taken.payload_share,
                                     blocks_Bps(made.cost, blocks_of_each(made, channels.size()), true)};
  for (const Channel& channel : channels)
    activities::add_switch_reduction(problem, job.communicator, channel, inside, load, made.cost.link_share);
}

void plan_aggregated(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& made) {
  const std::vector<Channel>& channels = job.communicator.channels;
  made.busiest_B = job.op.bytes_per_hop({job.size_B}, job.ranks()).si / static_cast<double>(channels.size());
  const activities::ChannelLoad load{made.busiest_B, made.taken.payload_share,
                                     blocks_Bps(made.cost, blocks_of_each(made, channels.size()), true)};
  for (const Channel& channel : channels) activities::add_aggregated_trees(problem, job.communicator, channel, load);
}

}  // namespace

bool by_multicast(const Taken& taken) { return taken.algorithm == "nvls" || taken.algorithm == "nvls_tree"; }

bool by_collnet(const Taken& taken, int nodes) {
  return taken.algorithm == "collnet_direct" || taken.algorithm == "collnet_chain" ||
         (taken.algorithm == "nvls" && nodes > 1);
}

bool by_switches(const Taken& taken) { return by_multicast(taken) || taken.algorithm == "pat" || by_collnet(taken, 1); }

std::vector<int> multicast_heads(const Communicator& communicator) {
  if (communicator.nodes == 1) {
    std::vector<int> heads = communicator.gpus;
    heads.resize(at(std::min(static_cast<int>(heads.size()), communicator.nvls_channels)));
    return heads;
  }
  std::vector<int> heads;
  for (const Channel& channel : communicator.channels)
    if (std::find(heads.begin(), heads.end(), channel.order.front()) == heads.end())
      heads.push_back(channel.order.front());
  return heads;
}

void plan_by_switches(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& made) {
  const Taken& taken = made.taken;
  made.cost = switch_cost(job.node(), job.rings(), job.communicator, taken.algorithm, taken.protocol, taken.blocks);
  made.latency_s = made.cost.base_s;
  made.latency_error_s = made.cost.latency_error_s(0, 0);
  if (!job.one_node()) {
    made.latency_s += switch_delay_s(job, taken, activities::distance_in(job.machine));
    const AlgorithmLatency table = job.rings().algorithm_latency(job.communicator, taken.algorithm);
    made.steps = std::max(1, static_cast<int>(table.between.count));
  }
  if (taken.algorithm == "pat")
    plan_aggregated(job, problem, made);
  else if (by_collnet(taken, job.communicator.nodes))
    plan_collnet(job, problem, made);
  else if (job.one_node())
    plan_in_node(job, problem, made);
  else
    plan_multicast_trees(job, problem, made);
}

double switch_delay_s(const CollectiveJob& job, const Taken& taken, const activities::HopDelay& wait_s) {
  const Communicator& communicator = job.communicator;
  const Channel& first = communicator.channels.front();
  if (taken.algorithm == "pat") return activities::aggregated_delay_s(job.machine, communicator, first, wait_s);
  if (by_collnet(taken, communicator.nodes))
    return activities::reduction_delay_s(job.machine, communicator, first, wait_s);
  const Tree head = activities::chain_of(multicast_heads(communicator).front());
  return 2 * activities::tree_delay_s(job.machine, communicator, head, 0, wait_s);
}

}  // namespace linkcast::collective
