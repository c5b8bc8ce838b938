#include <utility>

#include "models/algorithms/switch_reduction.hpp"

namespace linkcast {
namespace {

constexpr const char* kCollnetChain = "collnet_chain";

/// To the head along a chain, and back.
std::vector<Hop> chain_hops(const Channel& chain) {
  std::vector<Hop> hops = chain.hops;
  const std::size_t down = hops.size();
  for (std::size_t i = 0; i < down; ++i) {
    Hop up = hops[i];
    std::swap(up.from, up.to);
    hops.push_back(up);
  }
  return hops;
}

/// @limits  never measured by us
class CollnetChain final : public Algorithm {
 public:
  [[nodiscard]] Routes routes() const override { return Routes::kChannels; }
  [[nodiscard]] Needs needs(int /*nodes*/) const override { return {.reducing_fabric = true}; }
  [[nodiscard]] collective::CollectiveCost cost(const collective::CostRequest& request) const override {
    return switch_reduction_cost(request, kCollnetChain, key::collnet_chain);
  }
  void plan(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
            collective::CollectivePlan& plan) const override {
    collective::add_table_latency(job, plan);
    add_switch_reductions(
        job, problem,
        [](activities::ChannelRoute& route, const Channel& chain) { return route.inside(chain_hops(chain)); }, plan);
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

const bool collnet_chain_registered =
    algorithms().add({kCollnetChain, "switches between nodes reduce; in a node a chain to the head and back",
                      "models/libraries/SOURCES.md, CollNet and PAT"},
                     [] { return std::make_unique<CollnetChain>(); });

}  // namespace
}  // namespace linkcast
