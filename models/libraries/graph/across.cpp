#include "models/libraries/graph/across.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "models/libraries/graph/build.hpp"
#include "models/libraries/graph/channel_plan.hpp"
#include "models/libraries/node_rings.hpp"
#include "sim/base/factors.hpp"

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

const Device& device_of(const Cluster& cluster, int gpu) {
  return cluster.node().topology().devices[static_cast<std::size_t>(cluster.node().gpu(gpu))];
}

/// GPUs whose links the library's search does not know: not NVIDIA's.
bool foreign(const Cluster& cluster, const std::vector<int>& gpus) {
  return std::any_of(gpus.begin(), gpus.end(),
                     [&](int gpu) { return device_of(cluster, gpu).model.find("gfx") != std::string::npos; });
}

/// Whether each head reaches its NIC below the CPU: by a PCIe switch, or directly.
bool nics_within_switches(const Cluster& cluster, const std::map<int, int>& entries) {
  const Platform& node = cluster.node();
  for (const auto& [nic, head] : entries)
    for (const int link : cluster.to_nic(head).links) {
      const int to = node.links()[static_cast<std::size_t>(link)].to;
      if (node.topology().devices[static_cast<std::size_t>(to)].kind == DeviceKind::kCpu) return false;
    }
  return true;
}

Tree chain_from(const Channel& ring) { return {ring.order, ring.hops, ring.blocks, ring.in, ring.in}; }

/// A ring in one node as the library finds it there, and a chain along it, for each NIC next to a member, at the
/// fastest speed that all these NICs carry.
/// @source  models/libraries/SOURCES.md, "Graph era: NICs", GPUs that are not NVIDIA's
Communicator headed(const Version& version, const Cluster& cluster, const std::vector<int>& gpus, bool proxies) {
  Communicator made;
  if (gpus.size() > 1) {
    made = build_communicator(version, cluster.node(), gpus);
  } else {
    made.library = version.name;
    made.gpus = gpus;
    made.path_class = made.tree_class = "LOC";
    made.one_order = true;
    made.channels.push_back({gpus, {}, 0, 1});
  }
  const std::map<int, int> entries = nic_heads(cluster, gpus);
  double carried = std::numeric_limits<double>::infinity();
  for (const auto& entry : entries) carried = std::min(carried, nic_bandwidth(cluster, entry.first).si / kGiga);
  const int sm = library_sm(device_of(cluster, gpus.front())), found = static_cast<int>(entries.size());
  const std::vector<double>& speeds = std::prev(version.search.network_speeds.upper_bound(sm))->second;
  const auto speed = std::find_if(speeds.begin(), speeds.end(), [&](double one) { return one <= carried; });
  if (speed != speeds.end()) carried = *speed;
  const int most = std::max(1, version.search.max_channels / 2 / found);
  const int parts = std::min(split_factor(version.search, sm, found, carried), most);
  made.network_channel_bandwidth = made.tree_channel_bandwidth = {carried / parts * kGiga};
  made.network_class = nics_within_switches(cluster, entries) ? "PXB" : "PHB";
  made.nics_near = made.network_class == "PXB";
  made.channels = headed_rings(cluster, made.channels, entries, {parts, proxies && version.search.proxies_to_nic});
  made.trees.clear();
  for (const Channel& ring : made.channels) made.trees.push_back(chain_from(ring));
  return made;
}

}  // namespace

Communicator build_across(const Version& version, const Cluster& cluster, const std::vector<int>& gpus, int nodes,
                          bool proxies) {
  check_nodes(cluster, gpus, nodes);
  Communicator made = foreign(cluster, gpus) ? headed(version, cluster, gpus, proxies)
                                             : build_part(version, cluster.node(), gpus, nics_of(cluster), proxies);
  std::set<int> entries;
  for (const Channel& ring : made.channels) entries.insert(ring.in.nic);
  const int found = static_cast<int>(entries.size());
  made.nodes = nodes;
  // One channel a NIC in use: what crosses the fabric once goes up the tree and once down, in the same channel.
  made.nvls_channels = made.nvls_channels > 0 ? found : 0;
  const double network = nodes > 2 ? made.network_channel_bandwidth.si / 2 : made.network_channel_bandwidth.si;
  made.nvls_channel_bandwidth = {std::min(made.nvls_channel_bandwidth.si, network)};
  made.why =
      fmt::format("{} rings over {} nodes and {} NICs of each, ways to NICs of class {}; inside a node: {}",
                  made.channels.size(), nodes, found, made.network_class, gpus.size() == 1 ? "one GPU" : made.why);
  return made;
}

}  // namespace linkcast::graph
