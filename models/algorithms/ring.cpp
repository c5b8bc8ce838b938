#include <algorithm>
#include <cmath>

#include "models/algorithms/phases.hpp"
#include "models/algorithms/ring_cost.hpp"
#include "sim/base/index.hpp"
#include "sim/forecast/alignment.hpp"
#include "sim/forecast/collective_plan.hpp"
#include "sim/forecast/host_path.hpp"
#include "sim/forecast/narrow_steps.hpp"
#include "sim/plan/two_limits.hpp"

namespace linkcast {
namespace {

using activities::ChannelLoad;
using activities::ClusterProblem;
using collective::CollectiveCost;
using collective::CollectiveJob;
using collective::CollectivePlan;
using collective::CostRequest;
using collective::Figure;

/// A block takes so much of each rank's part in one round: four steps of its buffer in Simple, else one.
/// @source  NCCL 2.30.7: ALLREDUCE_CHUNKSTEPS in src/include/collectives.h
double round_B(const CollectiveJob& job, const std::string& protocol) {
  constexpr double kSimpleSteps = 4;
  return job.step_B(protocol) * (protocol == "Simple" ? kSimpleSteps : 1);
}

/// Times around a closed ring: sums on the way, and then the results.
int passes_of(const CollectiveTraits& traits) { return (traits.reduces ? 1 : 0) + (traits.gathers ? 1 : 0); }

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

/// Whether a rank's part is less than an element, of which benchmarks of the time make none.
/// @source  NVIDIA/nccl-tests of 2018: sendcount = count / nranks
bool moves_nothing(const CollectiveJob& job) {
  const CollectiveTraits traits = job.op.traits();
  const bool of_parts = job.op.closed() && traits.reduces != traits.gathers;
  return of_parts && job.rings().keeps_step() && job.size_B / job.ranks() < collective::kElement_B;
}

/// Calls follow each other, as nccl-tests times them: the root of a chain goes on while the last call runs down it, so
/// that the first byte's hops to the last rank count once in a row of calls.
collective::Steps ring_steps(const CollectiveJob& job) {
  if (moves_nothing(job)) return {};
  const bool closed = job.op.closed();
  const CollectiveTraits traits = job.op.traits();
  const int passes = passes_of(traits);
  const double storing = traits.gathers                   ? 1.0 * job.op.steps(job.ranks()) / passes
                         : traits.root && !traits.reduces ? 1
                                                          : 0;
  const double adding = !traits.reduces ? 0 : traits.root ? 1 : 1.0 * job.op.steps(job.ranks()) / passes;
  const double reading = closed ? 1 : 0;
  const double share = closed ? 1 : 1.0 / job.calls;
  const double steps = job.op.steps(job.ranks()) * share;
  if (job.one_node()) return {{steps, 0, storing, adding, reading}, 0};
  const int nodes = job.communicator.nodes;
  const double between = closed ? steps * nodes / job.ranks() : (nodes - 1) * share;
  return {{steps - between, between}, one_round_s(job, activities::distance_in(job.machine)) * rounds_of(job)};
}

/// Steps of one block for each byte of a rank's part, each of 1 / channel_Bps.
/// @source  primitives of NCCL's ring kernels (models/libraries/SOURCES.md): an all_reduce is a send, receives that
///          reduce and send, one that also stores, receives that store and send, and one that only stores. Adding hides
///          behind storing where a block also sends: for 16 MiB one of H200 takes 753 us with it, 749 without
///          (calibrate/data/hgx-h200/20261126b-nccl_base.json)
class BlockWork {
 public:
  BlockWork(const CollectiveJob& job, const CollectiveCost& cost)
      : copy_(cost.copy_steps),
        reduce_(cost.reduce_steps),
        read_(cost.read_steps),
        traits_(job.op.traits()),
        closed_(job.op.closed()) {
    if (!closed_) return;
    steps_ = job.op.steps(job.ranks());
    each_ = steps_ / passes_of(traits_);
  }
  /// Sends of a part.
  [[nodiscard]] double steps() const { return steps_; }
  /// Steps in which it sends and those in which it does not.
  [[nodiscard]] double all() const {
    return sending([](double step) { return step; }) + silent();
  }
  /// The same where all blocks take each step together, and no sending step is shorter than its bytes take on the
  /// links.
  /// @param link      steps that these bytes take there
  /// @param together  times as long as alone that the step takes which sends nothing
  [[nodiscard]] double in_step(double link, double together) const {
    return sending([link](double step) { return activities::of_two_limits_s(step, link); }) + together * silent();
  }
  /// Part of all() that storing or adding makes: d ln(all) / d ln(copy_steps), or reduce_steps, read_steps.
  [[nodiscard]] double copy_share() const { return (counted(1, 0) - 0.5 * steps()) * copy_ / all(); }
  [[nodiscard]] double reduce_share() const { return (counted(0, 1) - 0.5 * steps()) * reduce_ / all(); }
  [[nodiscard]] double read_share() const { return closed_ || root_limits() ? read_ / all() : 0; }

 private:
  [[nodiscard]] double plain() const { return std::max(0.0, 1 - 0.5 * (copy_ + reduce_)); }
  template <class Time>
  [[nodiscard]] double sending(Time&& time) const {
    const double copies = plain() + copy_, reduces = plain() + reduce_;
    // The slowest rank sets the pace of a chain: the root of a reduce adds and stores, and sends nothing.
    if (!closed_) return traits_.reduces ? std::max(time(reduces), read_ + copy_ + reduce_) : time(copies);
    if (!traits_.reduces) return each_ * time(copies);
    if (!traits_.gathers) return time(plain()) + (each_ - 1) * time(reduces);
    return time(plain()) + (each_ - 1) * (time(reduces) + time(copies)) + time(plain() + std::max(copy_, reduce_));
  }
  [[nodiscard]] double silent() const {
    if (!closed_) return 0;
    return read_ + copy_ + (traits_.gathers ? 0 : reduce_);
  }
  [[nodiscard]] bool root_limits() const { return !closed_ && traits_.reduces && read_ + copy_ > plain(); }
  /// Steps that store and that add.
  [[nodiscard]] double counted(double copy, double reduce) const {
    if (root_limits()) return copy + reduce + 0.5 * (copy + reduce);
    if (!closed_) return traits_.reduces ? reduce : copy;
    const bool both = traits_.reduces && traits_.gathers;
    return copy * (traits_.gathers ? each_ + (both && copy_ < reduce_ ? 0 : 1) : 1) +
           reduce * (traits_.reduces ? each_ - (both && copy_ >= reduce_ ? 1 : 0) : 0);
  }

  double copy_, reduce_, read_;
  double steps_ = 1, each_ = 1;  ///< sends of a part in all, and in each pass around the ring
  CollectiveTraits traits_;
  bool closed_;
};

/// Times as long as alone that blocks take which store at once. source: five operations on 1 to 24 channels of two to
/// four H100 and H200, 256 KiB to 4 GiB: 24 blocks take 1.6 times as long in Simple and LL128; LL's lines, of which few
/// are under way, no longer (docs/collectives.md)
double storing_together(const collective::Choice& choice) {
  constexpr double kOther = 0.6 / 23;
  return choice.protocol == "LL" ? 1 : 1 + kOther * (choice.blocks - 1);
}

/// Thread blocks of ring number i. A library that builds no trees gives each ring its own.
int blocks_of_ring(const CollectiveJob& job, int i, int blocks) {
  const Communicator& communicator = job.communicator;
  if (job.one_node() && communicator.trees.empty()) return communicator.channels[at(i)].blocks;
  return collective::blocks_on(i, static_cast<int>(communicator.channels.size()), blocks);
}

/// The last step of a reduce_scatter where blocks keep step: the links idle in it. source: 4 P100 and NCCL 2.0, whose
/// links the blocks of other steps can fill: 0.15 longer than all_gather (calibrate/data/p100-dgx1/tartan-nccl2.json)
void add_tail(const CollectiveJob& job, double per_hop_B, CollectivePlan& plan) {
  const double share = collective::tail_share(job.node(), job.communicator, plan.choice.protocol, job.op.traits(),
                                              job.op.steps(job.ranks()));
  if (share == 1) return;
  if (job.one_node())
    plan.tail_s = (1 / share - 1) * per_hop_B / (plan.choice.blocks * plan.cost.channel_Bps);
  else
    plan.cost.channel_Bps *= share;
}

/// The rate of a block in this operation, of which all steps count.
void set_operation(const CollectiveJob& job, CollectivePlan& plan) {
  const BlockWork work(job, plan.cost);
  plan.cost.channel_Bps *= work.steps() / work.all();
  const auto add = [&](Figure of, double share) {
    for (uncertainty::Term one : plan.cost.terms(of)) {
      one.spread = one.spread.times(-share);
      plan.cost.add(Figure::kBlock, one);
    }
  };
  add(Figure::kCopySteps, work.copy_share());
  add(Figure::kReduceSteps, work.reduce_share());
  add(Figure::kReadSteps, work.read_share());
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

/// A chain's last rank waits until each before it has passed on a chunk of every block: once in a row of calls. In
/// early versions each call waits for it, and a chunk is a 16th of the buffer, or half of what is less than two of
/// these.
/// @source  2 chunks of 8 sub-steps (models/libraries/SOURCES.md). Each call, and the halves: broadcast of 128 KiB to
///          1 GiB on eight P100, NCCL 1 and 2.0, takes 3.6 and 3.7 times an 8th of the buffers longer than the bytes do
///          (calibrate/data/p100-dgx1/tartan-nccl*-broadcast.json)
double chain_fill(const CollectiveJob& job, int blocks) {
  const double hops = job.op.steps(job.ranks());
  const double step = std::min(1.0, job.step_B("Simple") * blocks / job.size_B);
  return 1 + hops * step * (job.rings().keeps_step() ? 0.5 : 1.0 / job.calls);
}

Schedule ring_all_reduce(int ranks) { return {ranks, {ring_phase(ranks, 0, true), ring_phase(ranks, 1, false)}}; }
Schedule ring_all_gather(int ranks) { return {ranks, {ring_phase(ranks, 0, false)}}; }
Schedule ring_reduce_scatter(int ranks) { return {ranks, {ring_phase(ranks, -1, true)}}; }

/// Whether a hop of the ring through host memory carries so little that the rate of thread blocks does not matter,
/// whatever is not known of it.
bool host_far_below_blocks(const activities::ProblemBuilder& node, const Channel& ring, const ChannelLoad& load) {
  constexpr double kFarBelow = 3;  // source: ours, above the factor of 2 that an assumed rate of blocks may be off
  return std::any_of(ring.hops.begin(), ring.hops.end(), [&](const Hop& hop) {
    activities::HopLinks links;
    return hop.kind == HopKind::kHostMemory &&
           activities::add_hop(node, hop, load.host_wait, links) / load.host.wire * kFarBelow <
               load.rate_cap_Bps / load.payload_share;
  });
}

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
    const double distance_B = collective::part_distance_B(job, job.op.block_distance({job.size_B}, job.ranks()).si);
    const activities::HostHops host = collective::host_hops(
        job.node(), communicator, collective::through_host(communicator), closed ? job.op.steps(job.ranks()) : 0,
        collective::element_B(job.op, protocol, distance_B), collective::ring_buffers_B(job, plan.choice.blocks));
    const bool narrow =
        collective::narrow_blocks(job.node(), job.rings(), communicator, protocol, distance_B, plan.cost);
    // source: three H100, parts off 16 bytes, 8 MiB to 4 GiB: all_gather, whose every step stores, 11 to 16 % longer
    // than with 1, reduce_scatter 4 % shorter (calibrate/data/h100-four/20261126h-nccl_ops.json)
    constexpr double kNarrowStores = 1.5;
    if (narrow && protocol == "Simple") plan.cost.copy_steps *= kNarrowStores;
    const double per_hop = job.op.bytes_per_hop({job.size_B}, job.ranks()).si;
    if (job.rings().keeps_step())
      add_tail(job, per_hop, plan);
    else
      set_operation(job, plan);
    bool slow_hosts = true;
    for (int i = 0; i < static_cast<int>(communicator.channels.size()); ++i) {
      const int blocks = blocks_of_ring(job, i, plan.choice.blocks);
      if (blocks == 0) continue;
      const Channel& ring = communicator.channels[at(i)];
      const double share = protocol == "LL" ? 1 : collective::narrow_host_share(job, ring, distance_B, plan.cost);
      const ChannelLoad load{per_hop * blocks / plan.choice.blocks, plan.choice.payload_share,
                             share * collective::blocks_Bps(plan.cost, blocks, true), host, plan.cost.host_wait};
      plan.busiest_B = std::max(plan.busiest_B, load.bytes);
      slow_hosts = slow_hosts && job.one_node() && host_far_below_blocks(problem.in_node(), ring, load);
      if (job.one_node())
        collective::add_in_node(problem, plan, activities::ring_hops(ring, closed), load);
      else
        add_ring(problem, communicator, i, closed, load);
    }
    // The spread of the blocks' rate is none of the time's where that of the host's is known.
    if (slow_hosts && !plan.cost.terms(Figure::kLinks).empty()) plan.cost.set(Figure::kBlock, {});
  }
  [[nodiscard]] double first_byte_s(const CollectiveJob& job, const activities::HopDelay& delay_s) const override {
    return rounds_of(job) * one_round_s(job, delay_s);
  }
  /// Blocks begin together: all send at once, at what the links leave each, and then none does, so that a round takes
  /// the sum of its steps. Over the rounds they drift apart, until links are busy while some blocks store what came.
  /// @limits  inside nodes; measured with NCCL 2.28 on switched NVLink
  [[nodiscard]] double stretch(const CollectiveJob& job, const CollectivePlan& plan, double flow_s) const override {
    if (plan.tail_s > 0 && flow_s > 0) return 1 + plan.tail_s / flow_s;
    const double fill = plan.choice.protocol == "Simple" && !job.op.closed() ? chain_fill(job, plan.choice.blocks) : 1;
    if (!shares_links(job) || flow_s <= 0) return fill;
    return fill * shared_s(job, plan, 1) / std::max(blocks_s(job, plan, 1), plan.links_s);
  }
  [[nodiscard]] double block_share(const CollectiveJob& job, const CollectivePlan& plan, bool limited) const override {
    constexpr double kStep = 1.01;  // source: ours, small against all that bends
    if (!shares_links(job) || job.size_B <= 0) return Algorithm::block_share(job, plan, limited);
    return std::clamp(std::log(shared_s(job, plan, kStep) / shared_s(job, plan, 1)) / std::log(kStep), 0.0, 1.0);
  }
  /// Chains of early versions: how their blocks' rate differs from that in closed rings. source: the sweeps of
  /// chain_fill(), from 64 MiB: 14 % too fast with NCCL 2.0, 22 % too slow with 1
  [[nodiscard]] double unmeasured_spread(const CollectiveJob& job) const override {
    constexpr double kChain = 0.12;  // 90 % of both
    return job.rings().keeps_step() && !job.op.closed() ? kChain : 0;
  }
  /// Proxies keep several slices of a Simple channel under way, so that hops between nodes pass while bytes flow: the
  /// two add up as squares. source: published all_reduce on 64 to 2,048 GPUs of Alps (claim SC24-073): bus bandwidths
  /// of 87 GB/s that fall to 46 and 36 where ranks get less than 4 MiB each, between what the sum and the larger of the
  /// two would be
  [[nodiscard]] double hidden_s(const CollectiveJob& job, const CollectivePlan& plan, double flow_s) const override {
    if (plan.choice.protocol != "Simple" || !job.op.closed()) return 0;
    return plan.between_s + flow_s - std::hypot(plan.between_s, flow_s);
  }

 private:
  static bool shares_links(const CollectiveJob& job) {
    return job.one_node() && !job.rings().keeps_step() && !collective::through_host(job.communicator);
  }
  /// Time of the blocks alone, `slow` times as slow.
  static double blocks_s(const CollectiveJob& job, const CollectivePlan& plan, double slow) {
    return slow * job.op.bytes_per_hop({job.size_B}, job.ranks()).si / (plan.choice.blocks * plan.cost.channel_Bps);
  }
  /// Time of blocks on links that they share.
  static double shared_s(const CollectiveJob& job, const CollectivePlan& plan, double slow) {
    const BlockWork work(job, plan.cost);
    const double blocks = blocks_s(job, plan, slow), apart = activities::of_two_limits_s(blocks, plan.links_s);
    const double step_s = blocks / work.all();
    const double together =
        step_s * work.in_step(plan.links_s / (work.steps() * step_s), storing_together(plan.choice));
    const double part_B = job.size_B / (job.op.closed() ? job.ranks() : 1) / plan.choice.blocks;
    const double rounds = std::max(1.0, part_B / round_B(job, plan.choice.protocol));
    return apart + std::max(0.0, together - apart) * activities::share_in_step(rounds - 1);
  }
};

const bool ring_registered = algorithms().add(
    {"ring", "every part goes round, one rank further each round",
     "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005, "
     "section 4.1; Patarasu, Yuan: Bandwidth Optimal All-reduce Algorithms, JPDC 69(2), 2009"},
    [] { return std::make_unique<Ring>(); });

}  // namespace
}  // namespace linkcast
