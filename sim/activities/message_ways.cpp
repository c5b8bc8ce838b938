#include "sim/activities/message_ways.hpp"

#include <limits>

#include "sim/activities/channel_flows.hpp"

namespace linkcast::activities {
namespace {

NodeWay scaled(std::vector<Use> uses, double factor, double rate_cap_Bps) {
  for (Use& use : uses) use.weight *= factor;
  return {std::move(uses), rate_cap_Bps};
}

NodeWay inside_way(const ProblemBuilder& node, int from, int to, double stored) {
  const Platform& platform = node.platform();
  const bool peers = platform.peer_route(platform.gpu(from), platform.gpu(to)).has_value();
  const HopPath path = hop_path(node, {from, to, peers ? HopKind::kPeer : HopKind::kHostMemory});
  return scaled(kernel_uses(node, path.links), stored, path.rate_cap / stored);
}

}  // namespace

MessageWays message_ways(const Cluster& cluster, const std::vector<int>& gpus, double stored) {
  const ProblemBuilder builder(cluster.node());
  const double unlimited = std::numeric_limits<double>::infinity();
  MessageWays ways;
  for (const int gpu : gpus) {
    ways.inside.emplace_back();
    for (const int to : gpus)
      ways.inside.back().push_back(gpu == to ? NodeWay{} : inside_way(builder, gpu, to, stored));
    ways.out.push_back(scaled(builder.uses(cluster.to_nic(gpu).links), stored, unlimited));
    ways.in.push_back(scaled(builder.uses(cluster.from_nic(gpu).links), stored, unlimited));
  }
  return ways;
}

}  // namespace linkcast::activities
