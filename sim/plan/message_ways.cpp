#include "sim/plan/message_ways.hpp"

#include <algorithm>
#include <limits>

#include "sim/plan/channel_flows.hpp"

namespace linkcast::activities {

NetworkEnd network_end(const Cluster& cluster, ClusterGpu gpu, const NicWay& way) {
  const ClusterGpu end{gpu.node, way.handover ? way.handover->to : gpu.gpu};
  return {end, way.nic < 0 ? cluster.nic_of(end.gpu) : way.nic, way.staged};
}

std::vector<int> links_out(const Cluster& cluster, const NetworkEnd& end) {
  const Platform& node = cluster.node();
  const int gpu = node.gpu(end.gpu.gpu);
  if (!end.staged) return cluster.way_to_nic(gpu, end.nic);
  std::vector<int> links = node.to_host(gpu).links;
  const std::vector<int>& onward = cluster.way_to_nic(node.socket_of(gpu), end.nic);
  links.insert(links.end(), onward.begin(), onward.end());
  return links;
}

std::vector<int> links_in(const Cluster& cluster, const NetworkEnd& end) {
  std::vector<int> links = links_out(cluster, end);
  std::reverse(links.begin(), links.end());
  for (int& link : links) link ^= 1;
  return links;
}

namespace {

NodeWay scaled(std::vector<Use> uses, double factor, double rate_cap_Bps) {
  for (Use& use : uses) use.weight *= factor;
  return {std::move(uses), rate_cap_Bps};
}

NodeWay by_hop(const ProblemBuilder& node, const Hop& hop, double stored) {
  HopLinks links;
  const double rate_cap_Bps = add_hop(node, hop, 1, links);
  return scaled(kernel_uses(node, links), stored, rate_cap_Bps / stored);
}

NodeWay inside_way(const ProblemBuilder& node, int from, int to, double stored) {
  const Platform& platform = node.platform();
  const bool peers = platform.peer_route(platform.gpu(from), platform.gpu(to)).has_value();
  return by_hop(node, {from, to, peers ? HopKind::kPeer : HopKind::kHostMemory}, stored);
}

/// What another GPU sends in the place of this one is handed to it first.
NodeWay way_to_network(const ProblemBuilder& node, const Cluster& cluster, int gpu, const NicWay& way, double stored) {
  double rate_cap_Bps = std::numeric_limits<double>::infinity();
  std::vector<Use> uses = node.uses(links_out(cluster, network_end(cluster, {0, gpu}, way)));
  if (way.handover) {
    const NodeWay handed = by_hop(node, *way.handover, 1);
    rate_cap_Bps = handed.rate_cap_Bps / stored;
    uses.insert(uses.end(), handed.uses.begin(), handed.uses.end());
  }
  return scaled(std::move(uses), stored, rate_cap_Bps);
}

}  // namespace

NicWay way_out(const Exits& exits, std::size_t from, std::size_t to) {
  return exits.empty() ? NicWay{} : exits[from][to];
}

NicWay way_in(const Exits& exits, std::size_t member) { return way_out(exits, member, member); }

MessageWays message_ways(const Cluster& cluster, const std::vector<int>& gpus, const Exits& exits, double stored) {
  const ProblemBuilder builder(cluster.node());
  MessageWays ways;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    ways.inside.emplace_back();
    ways.out.emplace_back();
    for (std::size_t j = 0; j < gpus.size(); ++j) {
      ways.inside.back().push_back(i == j ? NodeWay{} : inside_way(builder, gpus[i], gpus[j], stored));
      ways.out.back().push_back(way_to_network(builder, cluster, gpus[i], way_out(exits, i, j), stored));
    }
    const NetworkEnd end = network_end(cluster, {0, gpus[i]}, way_in(exits, i));
    ways.in.push_back(scaled(builder.uses(links_in(cluster, end)), stored, std::numeric_limits<double>::infinity()));
  }
  return ways;
}

}  // namespace linkcast::activities
