#include "sim/plan/network_end.hpp"

#include <algorithm>

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

}  // namespace linkcast::activities
