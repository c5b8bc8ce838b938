#include <algorithm>
#include <utility>

#include "models/algorithms/multicast.hpp"
#include "models/algorithms/switch_reduction.hpp"

namespace linkcast {
namespace {

constexpr const char* kNvls = "nvls";
constexpr collective::LatencyRows kNvlsRows(kNvls);

/// Inside a node each head reduces and stores its part by the NVSwitch. Between nodes the switches of the fabric reduce
/// the nodes' sums.
/// @source  A. Ishii and R. Wells, The NVLink-Network Switch, Hot Chips 34 (2022)
class Nvls final : public SwitchReduction {
 public:
  Nvls() : SwitchReduction(kNvls, kNvlsRows) {}
  [[nodiscard]] Needs needs(int /*nodes*/) const override { return {.multicast = true}; }
  [[nodiscard]] std::string refusal(int nodes, bool collnet) const override {
    if (nodes == 1 || collnet) return "";
    return "nvls between nodes reduces in the switches of the fabric (CollNet, SHARP): ask with collnet, or take "
           "nvls_tree";
  }
  [[nodiscard]] collective::CollectiveCost cost(const collective::CostRequest& request) const override {
    return multicast_cost(request, name(), rows());
  }
  void plan(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
            collective::CollectivePlan& plan) const override {
    if (!job.one_node()) return SwitchReduction::plan(job, problem, plan);
    collective::add_table_latency(job, plan, hops(job, plan));
    plan_in_node(job, problem, plan);
  }
  [[nodiscard]] double stretch(const collective::CollectiveJob& job, const collective::CollectivePlan& plan,
                               double /*flow_s*/) const override {
    return job.one_node() ? multicast_rounds(job, plan.choice.blocks, false).fill() : 1;
  }
  [[nodiscard]] std::vector<std::string> warnings(const collective::CollectiveJob& job,
                                                  const collective::CollectivePlan& plan) const override {
    std::vector<std::string> warnings = multicast_warnings(job, plan);
    if (!job.one_node())
      for (std::string& warning : SwitchReduction::warnings(job, plan)) warnings.push_back(std::move(warning));
    return warnings;
  }
  [[nodiscard]] std::vector<std::vector<int>> orders(const Communicator& communicator) const override {
    return multicast_orders(communicator);
  }
  [[nodiscard]] std::vector<const ParameterRow*> parameters() const override {
    std::vector<const ParameterRow*> rows = SwitchReduction::parameters();
    for (const ParameterRow* row : multicast_parameters()) rows.push_back(row);
    return rows;
  }

 private:
  [[nodiscard]] collective::Hops hops(const collective::CollectiveJob& job,
                                      const collective::CollectivePlan& plan) const override {
    return multicast_rounds(job, plan.choice.blocks, false).hops();
  }
  std::vector<Use> sum_in_node(const collective::CollectiveJob& job, const collective::CollectiveCost& cost,
                               const Channel& chain, activities::ChannelRoute& route) const override {
    return route.multicast(job.communicator.gpus, chain.order.front(), cost.link_share);
  }

  /// Each head does one part.
  static void plan_in_node(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
                           collective::CollectivePlan& plan) {
    const std::vector<int> heads = multicast_heads(job.communicator);
    const CollectiveTraits traits = job.op.traits();
    plan.busiest_B = job.size_B / static_cast<double>(heads.size());
    for (const int head : heads) {
      const activities::MulticastPart part{plan.busiest_B, traits.reduces, traits.gathers, plan.cost.link_share};
      Activity flow = activities::multicast_activity(problem.in_node(), job.communicator.gpus, head, part);
      const double blocks_Bps =
          collective::blocks_Bps(plan.cost, collective::blocks_of_each(plan, heads.size()), false);
      flow.rate_cap_Bps = std::min(flow.rate_cap_Bps, blocks_Bps * flow.work_B / part.bytes);
      std::vector<Use> idle = flow.uses;
      for (Use& use : idle) use.weight *= 1 - plan.cost.link_share;
      problem.add_in_node(0, std::move(flow), idle);
      plan.hops.emplace_back();
    }
  }
};

const bool nvls_registered =
    algorithms().add({kNvls, "NVSwitches reduce and multicast; between nodes the fabric's switches reduce",
                      "models/libraries/SOURCES.md, Graph era: tuner"},
                     [] { return std::make_unique<Nvls>(); });

}  // namespace
}  // namespace linkcast
