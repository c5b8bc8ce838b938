#include <utility>

#include "models/algorithms/switch_reduction.hpp"

namespace linkcast {
namespace {

constexpr const char* kCollnetChain = "collnet_chain";
constexpr collective::LatencyRows kCollnetChainRows(kCollnetChain);

/// To the head along a chain, and back.
/// @limits  never measured by us
class CollnetChain final : public SwitchReduction {
 public:
  CollnetChain() : SwitchReduction(kCollnetChain, kCollnetChainRows) {}

 private:
  std::vector<Use> sum_in_node(const collective::CollectiveJob& /*job*/, const collective::CollectiveCost& /*cost*/,
                               const Channel& chain, activities::ChannelRoute& route) const override {
    std::vector<Hop> hops = chain.hops;
    const std::size_t down = hops.size();
    for (std::size_t i = 0; i < down; ++i) {
      Hop up = hops[i];
      std::swap(up.from, up.to);
      hops.push_back(up);
    }
    return route.inside(hops);
  }
};

const bool collnet_chain_registered =
    algorithms().add({kCollnetChain, "switches between nodes reduce; in a node a chain to the head and back",
                      "models/libraries/SOURCES.md, CollNet and PAT"},
                     [] { return std::make_unique<CollnetChain>(); });

}  // namespace
}  // namespace linkcast
