#include "models/algorithms/switch_reduction.hpp"

namespace linkcast {
namespace {

constexpr const char* kCollnetDirect = "collnet_direct";
constexpr collective::LatencyRows kCollnetDirectRows(kCollnetDirect);

/// Every member's data to the head and the result back, the head's links shared by all.
/// @limits  never measured by us
class CollnetDirect final : public SwitchReduction {
 public:
  CollnetDirect() : SwitchReduction(kCollnetDirect, kCollnetDirectRows) {}

 private:
  std::vector<Use> sum_in_node(const collective::CollectiveJob& job, const collective::CollectiveCost& /*cost*/,
                               const Channel& chain, activities::ChannelRoute& route) const override {
    const Platform& node = job.node();
    const int head = chain.order.front();
    std::vector<Hop> hops;
    for (const int member : job.communicator.gpus) {
      if (member == head) continue;
      const bool peer = node.peer_route(node.gpu(member), node.gpu(head)).has_value();
      const HopKind kind = peer ? HopKind::kPeer : HopKind::kHostMemory;
      hops.push_back({member, head, kind});
      hops.push_back({head, member, kind});
    }
    return route.inside(hops);
  }
};

const bool collnet_direct_registered = algorithms().add(
    {kCollnetDirect, "switches between nodes reduce; in a node all GPUs send to the head and get from it",
     "models/libraries/SOURCES.md, CollNet and PAT"},
    [] { return std::make_unique<CollnetDirect>(); });

}  // namespace
}  // namespace linkcast
