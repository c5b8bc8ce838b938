#include <algorithm>
#include <cmath>

#include "models/algorithms/channel_fill.hpp"
#include "models/algorithms/phases.hpp"
#include "models/algorithms/ring_cost.hpp"
#include "sim/base/index.hpp"
#include "sim/forecast/alignment.hpp"
#include "sim/forecast/collective_plan.hpp"
#include "sim/forecast/host_path.hpp"
#include "sim/forecast/narrow_steps.hpp"

namespace linkcast {
namespace {

using activities::ChannelLoad;
using activities::ClusterProblem;
using collective::CollectiveCost;
using collective::CollectiveJob;
using collective::CollectivePlan;
using collective::CostRequest;

// What a block takes of each rank's part in one round. source: NCCL's buffers, 4 slots of 512 KiB a chunk (SOURCES.md)
constexpr double kRound_B = 2097152;

/// The part of ring number `ring` that a node runs.
const Channel& part_of(const Communicator& communicator, int ring, int node) {
  return communicator.channels[at(communicator.swaps_rings && node % 2 == 1 ? ring ^ 1 : ring)];
}

/// Who talks to whom on the hop from a node of a ring to the next one.
struct RingHop {
  ClusterGpu from, to;
  const NicWay &out, &in;
};
RingHop hop_after(const Communicator& communicator, int ring, int node) {
  const int next = (node + 1) % communicator.nodes;
  const Channel &here = part_of(communicator, ring, node), &there = part_of(communicator, ring, next);
  return {{node, here.order.back()}, {next, there.order.front()}, here.out, there.in};
}

/// How often the first byte's way contains a whole round through the nodes.
double rounds_of(const CollectiveJob& job) {
  if (job.op.closed()) return 1.0 * job.op.steps(job.ranks()) / job.ranks();
  return 1.0 / job.calls;
}

/// Once through the nodes by the first ring.
double one_round_s(const CollectiveJob& job, const activities::HopDelay& delay_s) {
  double sum = 0;
  for (int node = 0; node < job.communicator.nodes - (job.op.closed() ? 0 : 1); ++node) {
    const RingHop hop = hop_after(job.communicator, 0, node);
    sum += delay_s(activities::endpoint_of(job.machine, hop.from, hop.out),
                   activities::endpoint_of(job.machine, hop.to, hop.in));
  }
  return sum;
}

/// Calls follow each other, as nccl-tests times them: the root of a chain goes on while the last call runs down it.
/// Between nodes the first byte's way to the last rank counts once in a row of calls; inside a node it is one hop.
collective::Steps ring_steps(const CollectiveJob& job) {
  const bool closed = job.op.closed();
  if (job.one_node()) return {closed ? 1.0 * job.op.steps(job.ranks()) : 1, 0, 0};
  const int nodes = job.communicator.nodes;
  const double share = closed ? 1 : 1.0 / job.calls;
  const double steps = job.op.steps(job.ranks()) * share;
  const double between = closed ? steps * nodes / job.ranks() : (nodes - 1) * share;
  return {steps - between, between, one_round_s(job, activities::distance_in(job.machine)) * rounds_of(job)};
}

/// Thread blocks of ring number i. A library that builds no trees gives each ring its own.
int blocks_of_ring(const CollectiveJob& job, int i, int blocks) {
  const Communicator& communicator = job.communicator;
  if (job.one_node() && communicator.trees.empty()) return communicator.channels[at(i)].blocks;
  return collective::blocks_on(i, static_cast<int>(communicator.channels.size()), blocks);
}

/// The last step of a reduce_scatter. Where blocks keep step the links idle in it, else it takes from each block's rate
/// and others use the links. source: 4 P100 and NCCL 2.0, whose links the blocks of other steps can fill: 0.15 longer
/// than all_gather (calibrate/data/p100-dgx1/tartan-nccl2.json); 4 H200 and 2.28.9: 0.002 (20261121a-nccl_ops.json)
void add_tail(const CollectiveJob& job, double per_hop_B, CollectivePlan& plan) {
  const double share = collective::tail_share(job.node(), job.communicator, plan.choice.protocol, job.op.traits(),
                                              job.op.steps(job.ranks()));
  if (share == 1) return;
  if (job.one_node() && job.rings().keeps_step())
    plan.tail_s = (1 / share - 1) * per_hop_B / (plan.choice.blocks * plan.cost.channel_Bps);
  else
    plan.cost.channel_Bps *= share;
}

/// The ring through all nodes as one activity.
void add_ring(ClusterProblem& problem, const Communicator& communicator, int ring, bool closed,
              const ChannelLoad& load) {
  activities::ChannelRoute route(problem, load);
  const int nodes = communicator.nodes;
  const std::vector<Use> even = route.inside(part_of(communicator, ring, 0).hops),
                         odd = route.inside(part_of(communicator, ring, 1).hops);
  for (int node = 0; node < nodes; ++node) {
    route.pass(node, node % 2 == 0 ? even : odd);
    if (!closed && node + 1 == nodes) continue;
    const RingHop hop = hop_after(communicator, ring, node);
    route.between(hop.from, hop.out, hop.to, hop.in);
  }
  route.add(load.bytes);
}

/// Once in a row of calls a chain's last rank waits until each before it has passed on a whole chunk of every block.
double chain_fill(const CollectiveJob& job, int blocks) {
  return 1 + job.op.steps(job.ranks()) * std::min(1.0, kChunk_B * blocks / job.size_B) / job.calls;
}

Schedule ring_all_reduce(int ranks) { return {ranks, {ring_phase(ranks, 0, true), ring_phase(ranks, 1, false)}}; }
Schedule ring_all_gather(int ranks) { return {ranks, {ring_phase(ranks, 0, false)}}; }
Schedule ring_reduce_scatter(int ranks) { return {ranks, {ring_phase(ranks, -1, true)}}; }

class Ring final : public TableAlgorithm {
 public:
  Ring()
      : TableAlgorithm({{"all_reduce", ring_all_reduce},
                        {"all_gather", ring_all_gather},
                        {"reduce_scatter", ring_reduce_scatter}}) {}

  [[nodiscard]] Routes routes() const override { return Routes::kChannels; }
  [[nodiscard]] bool without_cost_model() const override { return true; }
  [[nodiscard]] CollectiveCost cost(const CostRequest& request) const override { return ring_cost(request); }
  /// Every ring in steady state at once.
  void plan(const CollectiveJob& job, ClusterProblem& problem, CollectivePlan& plan) const override {
    const Communicator& communicator = job.communicator;
    const std::string& protocol = plan.choice.protocol;
    const bool closed = job.op.closed();
    collective::add_latency(job, ring_steps(job), plan);
    const double distance_B = job.op.block_distance({job.size_B}, job.ranks()).si;
    const activities::HostHops host = collective::host_hops(
        job.node(), communicator, collective::through_host(communicator), closed ? job.op.steps(job.ranks()) : 0,
        collective::element_B(job.op, protocol, distance_B), collective::ring_buffers_B(job, plan.choice.blocks));
    collective::narrow_blocks(job.node(), job.rings(), communicator, protocol, distance_B, plan.cost);
    const double per_hop = job.op.bytes_per_hop({job.size_B}, job.ranks()).si;
    add_tail(job, per_hop, plan);
    for (int i = 0; i < static_cast<int>(communicator.channels.size()); ++i) {
      const int blocks = blocks_of_ring(job, i, plan.choice.blocks);
      if (blocks == 0) continue;
      const Channel& ring = communicator.channels[at(i)];
      const double share = protocol == "LL" ? 1 : collective::narrow_host_share(job, ring, distance_B, plan.cost);
      const ChannelLoad load{per_hop * blocks / plan.choice.blocks, plan.choice.payload_share,
                             share * collective::blocks_Bps(plan.cost, blocks, true), host, plan.cost.host_wait};
      plan.busiest_B = std::max(plan.busiest_B, load.bytes);
      if (job.one_node())
        collective::add_in_node(problem, plan, activities::ring_hops(ring, closed), load);
      else
        add_ring(problem, communicator, i, closed, load);
    }
  }
  [[nodiscard]] double first_byte_s(const CollectiveJob& job, const activities::HopDelay& delay_s) const override {
    return rounds_of(job) * one_round_s(job, delay_s);
  }
  /// A round of a ring contains a part, `turn_steps`, in which a block sends nothing. In the first round all blocks
  /// turn at once and the links idle; then they drift apart as in a random walk, so that after r rounds 1 / sqrt(r) of
  /// the part is still common: 2 sqrt(R) - 1 in R rounds.
  /// @limits  turns were measured inside nodes only
  [[nodiscard]] double stretch(const CollectiveJob& job, const CollectivePlan& plan, double flow_s) const override {
    if (plan.choice.protocol == "Simple" && !job.op.closed()) return chain_fill(job, plan.choice.blocks);
    if (plan.tail_s > 0 && flow_s > 0) return 1 + plan.tail_s / flow_s;
    if (!job.one_node() || plan.cost.turn_steps <= 0 || !job.op.closed() || flow_s <= 0) return 1;
    const double piece_B = job.size_B / job.ranks() / plan.choice.blocks;
    const double rounds = std::max(1.0, piece_B / kRound_B);
    return 1 + plan.cost.turn_steps / plan.steps * (2 * std::sqrt(rounds) - 1) / rounds;
  }
  /// Proxies keep several slices of a Simple channel under way, so that hops between nodes pass while bytes flow: the
  /// two add up as squares. source: published all_reduce on 64 to 2,048 GPUs of Alps (claim SC24-073): bus bandwidths
  /// of 87 GB/s that fall to 46 and 36 where ranks get less than 4 MiB each, between what the sum and the larger of the
  /// two would be
  [[nodiscard]] double hidden_s(const CollectiveJob& job, const CollectivePlan& plan, double flow_s) const override {
    if (plan.choice.protocol != "Simple" || !job.op.closed()) return 0;
    return plan.between_s + flow_s - std::hypot(plan.between_s, flow_s);
  }
};

const bool ring_registered = algorithms().add(
    {"ring", "every part goes round, one rank further each round",
     "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005, "
     "section 4.1; Patarasu, Yuan: Bandwidth Optimal All-reduce Algorithms, JPDC 69(2), 2009"},
    [] { return std::make_unique<Ring>(); });

}  // namespace
}  // namespace linkcast
