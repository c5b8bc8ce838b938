#include "models/libraries/graph/across.hpp"

#include <algorithm>
#include <set>

#include "models/libraries/graph/build.hpp"
#include "models/libraries/node_rings.hpp"
#include "sim/units/factors.hpp"

namespace linkcast::graph {
namespace {

std::vector<GraphNic> nics_of(const Cluster& cluster) {
  std::vector<GraphNic> nics;
  for (int nic = 0; nic < cluster.nics(); ++nic)
    nics.push_back({cluster.nic_device(nic), nic_bandwidth(cluster, nic).si / kGiga});
  for (int gpu = 0; gpu < cluster.node().gpu_count(); ++gpu)
    nics[static_cast<std::size_t>(cluster.nic_of(gpu))].users.insert(gpu);
  return nics;
}

}  // namespace

Communicator build_across(const Version& version, const Cluster& cluster, const std::vector<int>& gpus, int nodes,
                          bool proxies) {
  check_nodes(cluster, gpus, nodes);
  Communicator made = build_part(version, cluster.node(), gpus, nics_of(cluster), proxies);
  std::set<int> entries;
  for (const Channel& ring : made.channels) entries.insert(ring.in.nic);
  const int found = static_cast<int>(entries.size());
  made.nodes = nodes;
  // One channel a NIC in use: what crosses the fabric once goes up the tree and once down, in the same channel.
  made.nvls_channels = made.nvls_channels > 0 ? found : 0;
  const double network = nodes > 2 ? made.network_channel_bandwidth.si / 2 : made.network_channel_bandwidth.si;
  made.nvls_channel_bandwidth = {std::min(made.nvls_channel_bandwidth.si, network)};
  made.why = std::to_string(made.channels.size()) + " rings over " + std::to_string(nodes) + " nodes and " +
             std::to_string(found) + " NICs of each, ways to NICs of class " + made.network_class +
             "; inside a node: " + (gpus.size() == 1 ? "one GPU" : made.why);
  return made;
}

}  // namespace linkcast::graph
