#pragma once
// Where what crosses the network leaves or enters a node.
#include <vector>

#include "sim/machine/cluster.hpp"
#include "sim/machine/communicator.hpp"

namespace linkcast::activities {

/// A GPU and the NIC of its node by which it talks to others.
struct NetworkEnd {
  ClusterGpu gpu;
  int nic = 0;          ///< number in the cluster
  bool staged = false;  ///< host memory lies between them
};

/// The GPU that has the way to the NIC: the one that sends in the place of `gpu`, if there is one.
NetworkEnd network_end(const Cluster& cluster, ClusterGpu gpu, const NicWay& way);
/// Links of its node from the GPU to the NIC, and the same cables the other way.
std::vector<int> links_out(const Cluster& cluster, const NetworkEnd& end);
std::vector<int> links_in(const Cluster& cluster, const NetworkEnd& end);

}  // namespace linkcast::activities
