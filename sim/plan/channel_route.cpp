#include "sim/plan/channel_route.hpp"

#include <algorithm>
#include <utility>

namespace linkcast::activities {

ChannelRoute::ChannelRoute(ClusterProblem& problem, const ChannelLoad& load)
    : problem_(problem),
      node_(problem.cluster().node()),
      stored_(1 / load.payload_share),
      cap_Bps_(load.rate_cap_Bps),
      host_wait_(load.host_wait) {}

std::vector<Use> ChannelRoute::inside(const std::vector<Hop>& hops) {
  HopLinks links;
  for (const Hop& hop : hops)
    cap_Bps_ = std::min(cap_Bps_, add_hop(node_, hop, host_wait_, links) / stored_);  // a hop's cap is of stored bytes
  std::vector<Use> uses = kernel_uses(node_, links);
  for (Use& use : uses) use.weight *= stored_;
  return uses;
}

std::vector<Use> ChannelRoute::multicast(const std::vector<int>& members, int head, double link_share) {
  Activity one_byte = multicast_activity(node_, members, head, {1, true, true, link_share});
  for (Use& use : one_byte.uses) use.weight *= one_byte.work_B * stored_;
  wire_share_ = link_share;
  return std::move(one_byte.uses);
}

void ChannelRoute::between(ClusterGpu from, const NicWay& out, ClusterGpu to, const NicWay& in, double part) {
  const Cluster& cluster = problem_.cluster();
  if (out.handover) {
    std::vector<Use> handed = inside({*out.handover});
    for (Use& use : handed) use.weight *= part;
    problem_.pass_constraints(from.node, handed);
  }
  const NetworkEnd sends = network_end(cluster, from, out), receives = network_end(cluster, to, in);
  const double weight = stored_ * part;
  problem_.pass_network(sends, receives, weight);
  problem_.pass_engines(cluster.endpoint(from.node, sends.nic), cluster.endpoint(to.node, receives.nic), weight);
}

int ChannelRoute::add(double bytes, Activity flow) {
  flow.work_B = bytes;
  flow.rate_cap_Bps = cap_Bps_;
  return problem_.add(std::move(flow));
}

int endpoint_of(const Cluster& cluster, ClusterGpu gpu, const NicWay& way) {
  return cluster.endpoint(gpu.node, network_end(cluster, gpu, way).nic);
}

HopDelay distance_in(const Cluster& cluster) {
  return [&cluster](int from, int to) { return cluster.beyond_nearest(fabric_latency(cluster.fabric(), from, to)).si; };
}

}  // namespace linkcast::activities
