#include "models/algorithms/switch_reduction.hpp"

namespace linkcast {
namespace {

constexpr const char* kPat = "pat";
constexpr collective::LatencyRows kPatRows(kPat);
// Parallel aggregated trees, of which no data of ours shows more than the library's table. source: assumed
constexpr double kPatSpread = 0.3;

/// Part of what a rank sends that goes 2^k ranks on, for each k.
std::vector<double> shares_by_length(int ranks) {
  std::vector<double> shares;
  for (int length = 1; length < ranks; length *= 2) {
    int edges = 0;  // ranks whose distance from the root has `length` as its lowest bit
    for (int rank = length; rank < ranks; rank += 2 * length) ++edges;
    shares.push_back(edges / (ranks - 1.0));
  }
  return shares;
}

/// Among one GPU of each node: every one is the root of a binomial tree whose farthest branch comes first, and what
/// goes the same way goes together.
/// @source  S. Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at scale (2025)
/// @limits  never measured by us
class Pat final : public Algorithm {
 public:
  [[nodiscard]] Routes routes() const override { return Routes::kChannels; }
  [[nodiscard]] collective::CollectiveCost cost(const collective::CostRequest& request) const override {
    return table_cost(request, kPat, kPatRows);
  }
  void plan(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
            collective::CollectivePlan& plan) const override {
    collective::add_table_latency(job, plan);
    const std::vector<Channel>& channels = job.communicator.channels;
    plan.busiest_B = job.op.bytes_per_hop({job.size_B}, job.ranks()).si / static_cast<double>(channels.size());
    const activities::ChannelLoad load{
        plan.busiest_B, plan.choice.payload_share,
        collective::blocks_Bps(plan.cost, collective::blocks_of_each(plan, channels.size()), true)};
    const int nodes = job.communicator.nodes;
    const std::vector<double> shares = shares_by_length(nodes);
    for (const Channel& channel : channels) {
      activities::ChannelRoute route(problem, load);
      for (std::size_t k = 0; k < shares.size(); ++k)
        for (int node = 0; node < nodes; ++node)
          route.between(entry_of(node, channel), channel.in, entry_of((node + (1 << k)) % nodes, channel), channel.in,
                        shares[k]);
      route.add(load.bytes);
    }
  }
  /// One hop of each length from the first rank.
  [[nodiscard]] double first_byte_s(const collective::CollectiveJob& job,
                                    const activities::HopDelay& delay_s) const override {
    const Channel& channel = job.communicator.channels.front();
    double sum = 0;
    for (int length = 1; length < job.communicator.nodes; length *= 2)
      sum += delay_s(card_of(job.machine, 0, channel), card_of(job.machine, length, channel));
    return sum;
  }
  [[nodiscard]] double unmeasured_spread(const collective::CollectiveJob& job) const override {
    return job.one_node() ? 0 : kPatSpread;
  }
  [[nodiscard]] std::vector<std::string> warnings(const collective::CollectiveJob& /*job*/,
                                                  const collective::CollectivePlan& /*plan*/) const override {
    return {"parallel aggregated trees were never measured: their steps are the library's table"};
  }
  [[nodiscard]] std::vector<const ParameterRow*> parameters() const override { return kPatRows.own(); }
};

const bool pat_registered =
    algorithms().add({kPat, "parallel aggregated trees between nodes of one GPU",
                      "S. Jeaugey, PAT: a new algorithm for all-gather and reduce-scatter operations at scale (2025)"},
                     [] { return std::make_unique<Pat>(); });

}  // namespace
}  // namespace linkcast
