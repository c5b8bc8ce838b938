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

void add_switch_reductions(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
                           const SumInNode& inside, collective::CollectivePlan& plan) {
  const std::vector<Channel>& channels = job.communicator.channels;
  plan.busiest_B = job.size_B / static_cast<double>(channels.size());
  const activities::ChannelLoad load{
      plan.busiest_B, plan.choice.payload_share,
      collective::blocks_Bps(plan.cost, collective::blocks_of_each(plan, channels.size()), true)};
  const int nodes = job.communicator.nodes;
  for (const Channel& channel : channels) {
    activities::ChannelRoute route(problem, load);
    const std::vector<Use> passing = inside(route, channel);
    for (int i = 0; i < nodes; ++i) {
      route.pass(i, passing);
      route.between(entry_of(i, channel), channel.in, entry_of((i + 1) % nodes, channel), channel.in);
    }
    route.add(load.bytes);
  }
}

double switch_reduction_s(const collective::CollectiveJob& job, const activities::HopDelay& delay_s) {
  const Channel& channel = job.communicator.channels.front();
  double most = 0;
  for (int node = 1; node < job.communicator.nodes; ++node)
    most = std::max(most, delay_s(card_of(job.machine, 0, channel), card_of(job.machine, node, channel)));
  return most;
}

collective::CollectiveCost switch_reduction_cost(const collective::CostRequest& request, const std::string& algorithm,
                                                 const key::SwitchRows& rows) {
  collective::CollectiveCost rates, cost;
  collective::set_rates(request, rates);
  cost.channel_Bps = rates.channel_Bps;
  cost.channel_terms = rates.channel_terms;
  cost.network_Bps = rates.network_Bps;
  cost.network_spread = rates.network_spread;
  collective::set_table_latency(request, algorithm, rows, cost);
  const double slow = collective::slowest_member(request.platform, request.communicator);
  collective::slow_down(cost, slow, slow);
  return cost;
}

double switch_reduction_spread(const collective::CollectiveJob& job) { return job.one_node() ? 0 : kSwitchesSpread; }

std::string switch_reduction_warning() {
  return "reduction by the switches between nodes was never measured: that they keep up with the cables is assumed";
}

}  // namespace linkcast
