#include "sim/collective/collective_plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/activities/channel_flows.hpp"
#include "sim/collective/alignment.hpp"
#include "sim/collective/collective_messages.hpp"
#include "sim/collective/host_path.hpp"
#include "sim/collective/narrow_steps.hpp"
#include "sim/units/index.hpp"

namespace linkcast::collective {
namespace {

int total_blocks(const Communicator& communicator) {
  int blocks = 0;
  for (const Channel& channel : communicator.channels) blocks += channel.blocks;
  return blocks;
}

TunerRequest request_of(const CollectiveJob& job) {
  return {job.call(), {job.size_B}, job.algorithm, job.protocol, job.nvls, job.collnet};
}

Taken library_takes(const CollectiveJob& job) {
  const auto choice = job.rings().choose(job.node(), job.communicator, request_of(job));
  if (choice) return {choice->entry.algorithm, choice->entry.protocol, choice->channels, choice->payload_share};
  if (job.algorithm == "tree") throw InputError("algorithm: " + job.communicator.library + " builds no trees");
  if (!job.algorithm.empty() && job.algorithm != "ring")
    throw InputError("algorithm: " + job.communicator.library + " has no " + job.algorithm);
  const ProtocolChoice old = job.rings().protocol(job.node(), job.communicator, job.call(), {job.size_B}, job.protocol);
  return {"ring", old.protocol, total_blocks(job.communicator), old.payload_share};
}

/// Hops that the first byte makes one after the other, and the latencies of the fabric on its way.
struct Steps {
  double inside = 0, between = 0, distance_s = 0;
};

void add_latency(const CollectiveJob& job, const Steps& steps, CollectivePlan& made) {
  made.steps = static_cast<int>(std::lround(steps.inside + steps.between));
  made.cost = collective_cost(job.node(), job.rings(), job.communicator, made.taken.algorithm, made.taken.protocol,
                              made.taken.blocks);
  made.latency_s = made.cost.latency_s(steps.inside, steps.between) + steps.distance_s;
  made.latency_error_s = made.cost.latency_error_s(steps.inside, steps.between);
  made.between_s = job.one_node() ? 0 : steps.between * made.cost.network_hop_s;
}

/// Most that `blocks` thread blocks of a channel move, over its slowest hop.
double blocks_Bps(const CollectivePlan& made, int blocks) {
  return blocks * std::min(made.cost.channel_Bps, made.cost.network_Bps);
}

/// How often the first byte's way contains a whole round through the nodes.
double rounds_of(const CollectiveJob& job) {
  if (job.op.closed()) return 1.0 * job.op.steps(job.ranks()) / job.ranks();
  return 1.0 / job.calls;
}

/// Calls follow each other, as nccl-tests times them: the root of a chain goes on while the last call runs down it.
/// Between nodes the first byte's way to the last rank counts once in a row of calls; inside a node it is one hop.
Steps ring_steps(const CollectiveJob& job) {
  const Communicator& made = job.communicator;
  const bool closed = job.op.closed();
  if (job.one_node()) return {closed ? 1.0 * job.op.steps(job.ranks()) : 1, 0, 0};
  const double share = closed ? 1 : 1.0 / job.calls;
  const double steps = job.op.steps(job.ranks()) * share;
  const double between = closed ? steps * made.nodes / job.ranks() : (made.nodes - 1) * share;
  return {steps - between, between, activities::ring_distance_s(job.machine, made, closed) * rounds_of(job)};
}

Steps tree_steps(const CollectiveJob& job) {
  const Communicator& made = job.communicator;
  const double chain = 2 * (static_cast<double>(made.gpus.size()) - 1);
  if (job.one_node()) return {chain, 0, 0};
  const int depth = std::max(activities::tree_depth(made.nodes, 0), activities::tree_depth(made.nodes, 1));
  return {chain, 2.0 * depth, 2 * activities::tree_distance_s(job.machine, made, made.trees.front(), 0)};
}

void add_in_node(activities::ClusterProblem& problem, CollectivePlan& made, std::vector<Hop> way,
                 const activities::ChannelLoad& load) {
  problem.add_in_node(0, activities::channel_activity(problem.in_node(), way, load));
  made.hops.push_back(std::move(way));
}

/// Thread blocks of ring number i. A library that builds no trees gives each ring its own.
int blocks_of_ring(const CollectiveJob& job, int i, int blocks) {
  const Communicator& made = job.communicator;
  if (job.one_node() && made.trees.empty()) return made.channels[at(i)].blocks;
  return blocks_on(i, static_cast<int>(made.channels.size()), blocks);
}

/// The last step of a reduce_scatter. Where blocks keep step the links idle in it, else it takes from each block's rate
/// and others use the links. source: 4 P100 and NCCL 2.0, whose links the blocks of other steps can fill: 0.15 longer
/// than all_gather (calibrate/data/p100-dgx1/tartan-nccl2.json); 4 H200 and 2.28.9: 0.002 (20261121a-nccl_ops.json)
void add_tail(const CollectiveJob& job, double per_hop_B, CollectivePlan& made) {
  const double share =
      tail_share(job.node(), job.communicator, made.taken.protocol, job.op.traits(), job.op.steps(job.ranks()));
  if (share == 1) return;
  if (job.one_node() && job.rings().keeps_step())
    made.tail_s = (1 / share - 1) * per_hop_B / (made.taken.blocks * made.cost.channel_Bps);
  else
    made.cost.channel_Bps *= share;
}

/// Every ring in steady state at once.
void plan_rings(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& made) {
  const Communicator& communicator = job.communicator;
  add_latency(job, ring_steps(job), made);
  const double distance_B = job.op.block_distance({job.size_B}, job.ranks()).si;
  const activities::HostHops host =
      host_hops(job.node(), communicator, through_host(communicator), job.op.closed() ? job.op.steps(job.ranks()) : 0,
                element_B(job.op, made.taken.protocol, distance_B), ring_buffers_B(job, made.taken.blocks));
  narrow_blocks(job.node(), job.rings(), communicator, made.taken.protocol, distance_B, made.cost);
  const double per_hop = job.op.bytes_per_hop({job.size_B}, job.ranks()).si;
  add_tail(job, per_hop, made);
  for (int i = 0; i < static_cast<int>(communicator.channels.size()); ++i) {
    const int blocks = blocks_of_ring(job, i, made.taken.blocks);
    if (blocks == 0) continue;
    const double share =
        made.taken.protocol == "LL" ? 1 : narrow_host_share(job, communicator.channels[at(i)], distance_B, made.cost);
    const activities::ChannelLoad load{per_hop * blocks / made.taken.blocks, made.taken.payload_share,
                                       share * blocks_Bps(made, blocks), host, made.cost.host_wait};
    made.busiest_B = std::max(made.busiest_B, load.bytes);
    if (job.one_node())
      add_in_node(problem, made, activities::ring_hops(communicator.channels[at(i)], job.op.closed()), load);
    else
      activities::add_cluster_ring(problem, communicator, i, job.op.closed(), load);
  }
}

/// Trees of one node are chains, run up and down at once. Through host memory all their bytes are taken to reach it:
/// how much of them the CPU's cache keeps was measured of rings alone.
void plan_trees_in_node(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& made) {
  const int distinct = static_cast<int>(job.communicator.trees.size());
  activities::HostHops host = host_hops(job.node(), job.communicator, trees_through_host(job.communicator), 0,
                                        element_B(job.op, made.taken.protocol, 0), job.size_B);
  host.memory = 1;
  for (int i = 0; i < distinct; ++i) {
    const int blocks = blocks_on(i, distinct, made.taken.blocks);
    if (blocks == 0) continue;
    const activities::ChannelLoad load{job.size_B * blocks / made.taken.blocks, made.taken.payload_share,
                                       blocks_Bps(made, blocks), host};
    made.busiest_B = std::max(made.busiest_B, load.bytes);
    for (std::vector<Hop>& way : activities::tree_ways(job.communicator.trees[at(i)]))
      add_in_node(problem, made, std::move(way), load);
  }
}

/// The first half of the blocks runs the first tree between nodes, their duplicates the second one.
void plan_trees_between(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& made) {
  const Communicator& communicator = job.communicator;
  const int distinct = static_cast<int>(communicator.trees.size());
  for (int block = 0; block < std::min(made.taken.blocks, 2 * distinct); ++block) {
    const activities::ChannelLoad load{job.size_B / made.taken.blocks, made.taken.payload_share, blocks_Bps(made, 1)};
    made.busiest_B = std::max(made.busiest_B, load.bytes);
    activities::add_cluster_tree(problem, communicator, communicator.trees[at(block % distinct)], block / distinct,
                                 load);
  }
}

}  // namespace

int blocks_on(int i, int distinct, int blocks) { return blocks / distinct + (i < blocks % distinct ? 1 : 0); }

CollectivePlan plan(const CollectiveJob& job, activities::ClusterProblem& problem) {
  if (job.one_node()) problem.include_node(0);
  if (job.of_messages()) return plan_messages(job, problem);
  CollectivePlan made{library_takes(job), {}};
  if (by_switches(made.taken)) {
    plan_by_switches(job, problem, made);
  } else if (made.taken.algorithm == "tree") {
    add_latency(job, tree_steps(job), made);
    job.one_node() ? plan_trees_in_node(job, problem, made) : plan_trees_between(job, problem, made);
  } else {
    plan_rings(job, problem, made);
  }
  return made;
}

double waits_s(const CollectiveJob& job, const CollectivePlan& made, const activities::HopDelay& wait_s) {
  const Communicator& communicator = job.communicator;
  if (by_switches(made.taken)) return switch_delay_s(job, made.taken, wait_s);
  if (made.taken.algorithm == "tree")
    return 2 * activities::tree_delay_s(job.machine, communicator, communicator.trees.front(), 0, wait_s);
  return rounds_of(job) * activities::ring_delay_s(job.machine, communicator, job.op.closed(), wait_s);
}

}  // namespace linkcast::collective
