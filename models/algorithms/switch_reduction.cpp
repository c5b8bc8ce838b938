#include "models/algorithms/switch_reduction.hpp"

#include <algorithm>

namespace linkcast {
namespace {

// Switches between nodes that reduce, which no data of ours shows. source: assumed: a factor of 2 either way, 90 %
constexpr double kSwitchesSpread = 0.42;

}  // namespace

ClusterGpu entry_of(int node, const Channel& channel) { return {node, channel.order.front()}; }

int card_of(const Cluster& cluster, int node, const Channel& channel) {
  return activities::endpoint_of(cluster, entry_of(node, channel), channel.in);
}

collective::CollectiveCost table_cost(const collective::CostRequest& request, const std::string& algorithm,
                                      const collective::LatencyRows& rows) {
  collective::CollectiveCost cost;
  collective::set_block_rate(request, cost);
  collective::set_network_rate(request, cost);
  collective::set_table_latency(request, algorithm, rows, cost);
  collective::wait_for_slowest(request, cost);
  return cost;
}

collective::CollectiveCost SwitchReduction::cost(const collective::CostRequest& request) const {
  return table_cost(request, name_, rows_);
}

void SwitchReduction::plan(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
                           collective::CollectivePlan& plan) const {
  collective::add_table_latency(job, plan, hops(job, plan));
  const std::vector<Channel>& channels = job.communicator.channels;
  plan.busiest_B = job.size_B / static_cast<double>(channels.size());
  const activities::ChannelLoad load{
      plan.busiest_B, plan.choice.payload_share,
      collective::blocks_Bps(plan.cost, collective::blocks_of_each(plan, channels.size()), true)};
  const int nodes = job.communicator.nodes;
  for (const Channel& channel : channels) {
    activities::ChannelRoute route(problem, load);
    const std::vector<Use> passing = sum_in_node(job, plan.cost, channel, route);
    for (int i = 0; i < nodes; ++i) {
      route.pass(i, passing);
      route.between(entry_of(i, channel), channel.in, entry_of((i + 1) % nodes, channel), channel.in);
    }
    route.add(load.bytes);
  }
}

collective::Hops SwitchReduction::hops(const collective::CollectiveJob& /*job*/,
                                       const collective::CollectivePlan& /*plan*/) const {
  return {};
}

double SwitchReduction::first_byte_s(const collective::CollectiveJob& job, const activities::HopDelay& delay_s) const {
  const Channel& channel = job.communicator.channels.front();
  double most = 0;
  for (int node = 1; node < job.communicator.nodes; ++node)
    most = std::max(most, delay_s(card_of(job.machine, 0, channel), card_of(job.machine, node, channel)));
  return most;
}

double SwitchReduction::unmeasured_spread(const collective::CollectiveJob& job) const {
  return job.one_node() ? 0 : kSwitchesSpread;
}

std::vector<std::string> SwitchReduction::warnings(const collective::CollectiveJob& /*job*/,
                                                   const collective::CollectivePlan& /*plan*/) const {
  return {"reduction by the switches between nodes was never measured: that they keep up with the cables is assumed"};
}

}  // namespace linkcast
