#include <algorithm>
#include <cmath>
#include <utility>

#include "models/algorithms/tree_edges.hpp"
#include "sim/base/index.hpp"
#include "sim/forecast/collective_plan.hpp"
#include "sim/forecast/host_path.hpp"

namespace linkcast {
namespace {

using activities::ChannelLoad;
using activities::ClusterProblem;
using collective::CollectiveCost;
using collective::CollectiveJob;
using collective::CollectivePlan;
using collective::CostRequest;
using collective::Figure;

// A tree's blocks split their threads between up and down. source: NCCL's all_reduce kernel runs both
// at once in one block (docs/communicators.md)
constexpr double kTreeShare = 0.5;

/// As a ring's, slower or quicker.
void set_tree_latency(const CostRequest& request, CollectiveCost& cost) {
  const LibraryParameters known = request.platform.library_parameters();
  const Learned slow = learned(known, request.communicator.library, key::tree_slowness[request.protocol]);
  const double by_class = request.library.hop_latency(request.protocol, request.communicator.tree_class).si /
                          request.library.hop_latency(request.protocol, request.communicator.path_class).si;
  cost.base_s *= slow.value;
  cost.hop_s *= slow.value * by_class;
  cost.set(Figure::kSteps,
           {{uncertainty::term::kHops, 0, ErrorPart(slow), uncertainty::source_of(slow, uncertainty::kAssumed),
             &key::tree_slowness[request.protocol]}});
}

/// Hops between nodes that the first byte makes, up and down.
double hops_between(const Communicator& communicator) {
  return 2.0 * std::max(tree_depth(communicator.nodes, 0), tree_depth(communicator.nodes, 1));
}

/// Hops inside nodes.
double hops_inside(const Communicator& communicator) { return 2 * (static_cast<double>(communicator.gpus.size()) - 1); }

collective::Steps tree_steps(const CollectiveJob& job) {
  const Communicator& communicator = job.communicator;
  if (job.one_node()) return {{hops_inside(communicator)}, 0};
  const double down_s =
      tree_delay_s(job.machine, communicator, communicator.trees.front(), 0, activities::distance_in(job.machine));
  return {{hops_inside(communicator), hops_between(communicator)}, 2 * down_s};
}

/// Trees of one node are chains, run up and down at once. Through host memory all their bytes are taken to reach it:
/// how much of them the CPU's cache keeps was measured of rings alone.
void plan_trees_in_node(const CollectiveJob& job, ClusterProblem& problem, CollectivePlan& plan) {
  const int distinct = static_cast<int>(job.communicator.trees.size());
  activities::HostHops host =
      collective::host_hops(job.node(), job.communicator, collective::trees_through_host(job.communicator), 0,
                            collective::element_B(job.op, plan.choice.protocol, 0), job.size_B);
  host.memory = 1;
  for (int i = 0; i < distinct; ++i) {
    const int blocks = collective::blocks_on(i, distinct, plan.choice.blocks);
    if (blocks == 0) continue;
    const ChannelLoad load{job.size_B * blocks / plan.choice.blocks, plan.choice.payload_share,
                           collective::blocks_Bps(plan.cost, blocks, true), host};
    plan.busiest_B = std::max(plan.busiest_B, load.bytes);
    for (std::vector<Hop>& route : activities::tree_ways(job.communicator.trees[at(i)]))
      collective::add_in_node(problem, plan, std::move(route), load);
  }
}

/// One tree between nodes, up and down. On its way down a block has what it moves between nodes for all its children
/// together; in LL its GPU's proxy limits it, not what it sends to how many.
/// @param cost  of one block. @param blocks  of this tree
/// @source  ABCI's nodes of A100: two nodes 18 GB/s each way, by trees; eight 15 GB/s, by trees to 8 MiB and rings
/// above
void add_tree(ClusterProblem& problem, const Communicator& communicator, const Tree& chain, int which,
              const CollectiveCost& cost, int blocks, bool by_proxy, ChannelLoad load) {
  const BinaryTree tree = double_binary_tree(communicator.nodes, which);
  std::size_t most = 1;
  if (!by_proxy)
    for (const auto& children : tree.children) most = std::max(most, children.size());
  for (const bool up : {true, false}) {
    load.rate_cap_Bps = blocks * std::min(cost.channel_Bps, cost.network_Bps / (up ? 1 : static_cast<double>(most)));
    activities::ChannelRoute route(problem, load);
    std::vector<Hop> hops = chain.hops;
    for (Hop& hop : hops)
      if (up) std::swap(hop.from, hop.to);
    const std::vector<Use> passing = route.inside(hops);
    for (int node = 0; node < communicator.nodes; ++node) {
      route.pass(node, passing);
      if (node == tree.root) continue;
      const TreeEnd here = child_end(chain, node), above = parent_end(communicator, chain, tree, node);
      if (up)
        route.between(here.gpu, here.way, above.gpu, above.way);
      else
        route.between(above.gpu, above.way, here.gpu, here.way);
    }
    route.add(load.bytes);
  }
}

/// The first half of the blocks runs the first tree between nodes, their duplicates the second one.
void plan_trees_between(const CollectiveJob& job, ClusterProblem& problem, CollectivePlan& plan) {
  const std::vector<Tree>& trees = job.communicator.trees;
  const int distinct = static_cast<int>(trees.size());
  for (int i = 0; i < 2 * distinct; ++i) {
    const int blocks = collective::blocks_on(i, 2 * distinct, plan.choice.blocks);
    if (blocks == 0) continue;
    const ChannelLoad load{job.size_B * blocks / plan.choice.blocks, plan.choice.payload_share};
    plan.busiest_B = std::max(plan.busiest_B, load.bytes);
    add_tree(problem, job.communicator, trees[at(i % distinct)], i / distinct, plan.cost, blocks,
             plan.choice.protocol == "LL", load);
  }
}

/// Bytes that a block takes before it passes them on: a step, less where few of them on a route of `depth` hops cut it.
/// source: recalled of NCCL's enqueue.cc ("Optimize chunkSize / nSteps", models/libraries/SOURCES.md)
double cut_chunk_B(double step_B, double block_B, double depth) {
  double chunk_B = step_B;
  const auto halve = [&](double wanted, double least_B) {
    while (std::floor(block_B / chunk_B) < wanted && chunk_B > least_B) chunk_B /= 2;
  };
  halve(8 * depth, 131072);
  halve(4 * depth, 65536);
  halve(depth, 32768);
  return chunk_B;
}

/// The same of a tree between nodes. source: NCCL's chunks by protocol (models/libraries/SOURCES.md, "Chunks of trees")
double chunk_between_B(const CollectiveJob& job, const collective::Choice& choice) {
  const double block_B = job.size_B / choice.blocks, members = static_cast<double>(job.communicator.gpus.size());
  const double step_B = job.step_B(choice.protocol);
  if (choice.protocol == "LL") return step_B;
  if (choice.protocol == "Simple") {
    if (choice.whole_chunks) return step_B;
    return cut_chunk_B(step_B, block_B, members - 1 + std::log2(job.communicator.nodes));
  }
  const double depth = 1 + std::log2(job.communicator.nodes) + members / 10;
  double chunk_B = step_B;
  const auto halve = [&](double wanted, double least_B) {
    while (block_B / chunk_B < wanted && chunk_B > least_B) chunk_B /= 2;
  };
  halve(64 * depth / members, 131072);
  halve(16 * depth / members, 32768);
  return chunk_B;
}

/// Each hop but one passes a chunk on only when it has all of it: over the time of the bytes, which the hops between
/// nodes set. While the first chunk goes up none comes down, so that hops take it at twice the pace of the bytes.
double fill_between(const CollectiveJob& job, const CollectivePlan& plan, double flow_s) {
  if (flow_s <= 0) return 0;
  constexpr double kOneWay = 0.5;
  const double block_B = job.size_B / plan.choice.blocks;
  const double chunk_B = std::min(block_B, chunk_between_B(job, plan.choice)), pace = flow_s / block_B;
  const double inside_pace = std::min(pace, 1 / plan.cost.channel_Bps);
  const double hops_s =
      (hops_between(job.communicator) - 1) * kOneWay * pace + hops_inside(job.communicator) * inside_pace;
  return hops_s * chunk_B / flow_s;
}

/// Double binary trees between nodes, chains inside them.
/// @source  models/libraries/SOURCES.md; P. Sanders, J. Speck, J. L. Träff: Two-tree algorithms for full bandwidth
///          broadcast, reduction and scan, Parallel Computing 35 (2009)
class TreeAlgorithm final : public Algorithm {
 public:
  [[nodiscard]] Routes routes() const override { return Routes::kChannels; }
  [[nodiscard]] CollectiveCost cost(const CostRequest& request) const override {
    const Communicator& communicator = request.communicator;
    CollectiveCost cost;
    collective::set_latency(request, cost);
    collective::set_rates(request, cost);
    set_tree_latency(request, cost);
    cost.channel_Bps *= kTreeShare;
    if (collective::trees_through_host(communicator))
      collective::take_host_path(request.platform, communicator, request.protocol, key::host_channel[request.protocol],
                                 kTreeShare, cost);
    // One slow GPU slows all blocks, and the hops of a tree follow each other through all GPUs.
    collective::slow_down(cost, collective::slowest_member(request.platform, communicator),
                          collective::mean_slowness(request.platform, communicator));
    return cost;
  }
  void plan(const CollectiveJob& job, ClusterProblem& problem, CollectivePlan& plan) const override {
    collective::add_latency(job, tree_steps(job), plan);
    job.one_node() ? plan_trees_in_node(job, problem, plan) : plan_trees_between(job, problem, plan);
  }
  /// Up and down.
  [[nodiscard]] double first_byte_s(const CollectiveJob& job, const activities::HopDelay& delay_s) const override {
    return 2 * tree_delay_s(job.machine, job.communicator, job.communicator.trees.front(), 0, delay_s);
  }
  /// In each call a chunk of every block goes up to the root and back down before the leaves have their first bytes,
  /// and the leaves are not done before they have the last. One hop more than the bytes' own.
  [[nodiscard]] double stretch(const CollectiveJob& job, const CollectivePlan& plan, double flow_s) const override {
    if (!job.one_node()) return 1 + fill_between(job, plan, flow_s);
    if (plan.choice.protocol != "Simple") return 1;
    const double block_B = job.size_B / plan.choice.blocks;
    return 1 + plan.steps * std::min(1.0, cut_chunk_B(job.step_B("Simple"), block_B, job.ranks() - 1) / block_B);
  }
};

const bool tree_registered =
    algorithms().add({"tree", "double binary trees between nodes, chains in them", "models/libraries/SOURCES.md"},
                     [] { return std::make_unique<TreeAlgorithm>(); });

}  // namespace
}  // namespace linkcast
