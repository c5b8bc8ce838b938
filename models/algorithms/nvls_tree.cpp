#include "models/algorithms/multicast.hpp"
#include "models/algorithms/tree_edges.hpp"

namespace linkcast {
namespace {

constexpr const char* kNvlsTree = "nvls_tree";
constexpr collective::LatencyRows kNvlsTreeRows(kNvlsTree, "nvls");
// Multicast between nodes: what the proxies add to the rounds of a node is in none of our data.
// source: assumed
constexpr double kNvlsTreeSpread = 0.3;

/// Each node reduces by multicast, the sums go up and down two trees between the nodes, each node stores by multicast.
class NvlsTree final : public Algorithm {
 public:
  [[nodiscard]] Routes routes() const override { return Routes::kChannels; }
  [[nodiscard]] Needs needs(int /*nodes*/) const override { return {.multicast = true}; }
  [[nodiscard]] std::string refusal(int nodes, bool /*collnet*/) const override {
    return nodes == 1 ? "nvls_tree is between nodes; in one: nvls" : "";
  }
  [[nodiscard]] collective::CollectiveCost cost(const collective::CostRequest& request) const override {
    collective::CollectiveCost cost = multicast_cost(request, kNvlsTree, kNvlsTreeRows);
    if (request.communicator.nodes > 1) collective::set_growth(request, cost);
    return cost;
  }
  /// Half of a head's part on each of two trees.
  void plan(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
            collective::CollectivePlan& plan) const override {
    constexpr int kTrees = 2;
    collective::add_table_latency(job, plan, multicast_rounds(job, plan.choice.blocks, true).hops());
    const std::vector<int> heads = multicast_heads(job.communicator);
    plan.busiest_B = job.size_B / static_cast<double>(heads.size());
    const activities::ChannelLoad load{
        plan.busiest_B / kTrees, plan.choice.payload_share,
        collective::blocks_Bps(plan.cost, collective::blocks_of_each(plan, kTrees * heads.size()), true)};
    for (const int head : heads)
      for (int which = 0; which < kTrees; ++which) add_tree(job, problem, head, which, load, plan.cost.link_share);
  }
  /// Up and down.
  [[nodiscard]] double first_byte_s(const collective::CollectiveJob& job,
                                    const activities::HopDelay& delay_s) const override {
    const Tree head = chain_of(multicast_heads(job.communicator).front());
    return 2 * tree_delay_s(job.machine, job.communicator, head, 0, delay_s);
  }
  [[nodiscard]] double unmeasured_spread(const collective::CollectiveJob& job) const override {
    return job.one_node() ? 0 : kNvlsTreeSpread;
  }
  [[nodiscard]] std::vector<std::string> warnings(const collective::CollectiveJob& job,
                                                  const collective::CollectivePlan& plan) const override {
    return multicast_warnings(job, plan);
  }
  [[nodiscard]] std::vector<std::vector<int>> orders(const Communicator& communicator) const override {
    return multicast_orders(communicator);
  }
  [[nodiscard]] std::vector<const ParameterRow*> parameters() const override { return kNvlsTreeRows.own(); }

 private:
  /// One tree between the nodes' GPUs of one number, as one activity.
  static void add_tree(const collective::CollectiveJob& job, activities::ClusterProblem& problem, int head, int which,
                       const activities::ChannelLoad& load, double link_share) {
    const int nodes = job.communicator.nodes;
    const BinaryTree tree = double_binary_tree(nodes, which);
    activities::ChannelRoute route(problem, load);
    const std::vector<Use> passing = route.multicast(job.communicator.gpus, head, link_share);
    for (int node = 0; node < nodes; ++node) {
      route.pass(node, passing);
      if (node == tree.root) continue;
      const ClusterGpu here{node, head}, above{tree.parent[static_cast<std::size_t>(node)], head};
      route.between(here, {}, above, {});
      route.between(above, {}, here, {});
    }
    route.add(load.bytes);
  }
};

const bool nvls_tree_registered =
    algorithms().add({kNvlsTree, "NVSwitches reduce and multicast; between nodes double binary trees of sums",
                      "models/libraries/SOURCES.md, Graph era: tuner"},
                     [] { return std::make_unique<NvlsTree>(); });

}  // namespace
}  // namespace linkcast
