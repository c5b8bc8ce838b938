#include "models/algorithms/switch_reduction.hpp"

namespace linkcast {
namespace {

constexpr const char* kCollnetDirect = "collnet_direct";

/// Every member's data to the head and the result back, the head's links shared by all.
std::vector<Hop> star_hops(const Platform& node, const std::vector<int>& members, int head) {
  std::vector<Hop> hops;
  for (const int member : members) {
    if (member == head) continue;
    const bool peer = node.peer_route(node.gpu(member), node.gpu(head)).has_value();
    const HopKind kind = peer ? HopKind::kPeer : HopKind::kHostMemory;
    hops.push_back({member, head, kind});
    hops.push_back({head, member, kind});
  }
  return hops;
}

/// @limits  never measured by us
class CollnetDirect final : public Algorithm {
 public:
  [[nodiscard]] Routes routes() const override { return Routes::kChannels; }
  [[nodiscard]] Needs needs(int /*nodes*/) const override { return {.reducing_fabric = true}; }
  [[nodiscard]] collective::CollectiveCost cost(const collective::CostRequest& request) const override {
    return switch_reduction_cost(request, kCollnetDirect, key::collnet_direct);
  }
  void plan(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
            collective::CollectivePlan& plan) const override {
    collective::add_table_latency(job, plan);
    const auto star = [&](activities::ChannelRoute& route, const Channel& chain) {
      return route.inside(star_hops(job.node(), job.communicator.gpus, chain.order.front()));
    };
    add_switch_reductions(job, problem, star, plan);
  }
  [[nodiscard]] double first_byte_s(const collective::CollectiveJob& job,
                                    const activities::HopDelay& delay_s) const override {
    return switch_reduction_s(job, delay_s);
  }
  [[nodiscard]] double unmeasured_spread(const collective::CollectiveJob& job) const override {
    return switch_reduction_spread(job);
  }
  [[nodiscard]] std::vector<std::string> warnings(const collective::CollectiveJob& /*job*/,
                                                  const collective::CollectivePlan& /*plan*/) const override {
    return {switch_reduction_warning()};
  }
};

const bool collnet_direct_registered = algorithms().add(
    {kCollnetDirect, "switches between nodes reduce; in a node all GPUs send to the head and get from it",
     "models/libraries/SOURCES.md, CollNet and PAT"},
    [] { return std::make_unique<CollnetDirect>(); });

}  // namespace
}  // namespace linkcast
