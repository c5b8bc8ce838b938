#include "models/libraries/graph/across.hpp"

#include <algorithm>
#include <map>

#include "models/libraries/graph/build.hpp"
#include "models/libraries/graph/channel_plan.hpp"
#include "models/libraries/graph/node_model.hpp"
#include "models/libraries/node_rings.hpp"
#include "sim/units/factors.hpp"

namespace linkcast::graph {
namespace {

/// One member a node: a ring of a single GPU without hops.
Communicator alone(const Version& version, int gpu) {
  Communicator made;
  made.library = version.name;
  made.gpus = {gpu};
  made.path_class = made.tree_class = "LOC";
  made.one_order = true;
  made.channels.push_back({{gpu}, {}, 0, 1});
  return made;
}

int least_sm(const Platform& platform, const std::vector<int>& gpus) {
  int least = 1000;
  for (const int gpu : gpus)
    least = std::min(least, library_sm(platform.topology().devices[static_cast<std::size_t>(platform.gpu(gpu))]));
  return least;
}

const std::vector<double>& speeds_of(const std::map<int, std::vector<double>>& by_sm, int sm) {
  return std::prev(by_sm.upper_bound(sm))->second;
}

/// GB/s of a NIC's cable, and the fastest speed of the list that it carries.
double channel_speed(const Version& version, const Cluster& cluster, int sm) {
  const double nic = nic_bandwidth(cluster).si / kGiga;
  for (const double speed : speeds_of(version.search.network_speeds, sm))
    if (speed <= nic) return speed;
  return nic;
}

/// GB/s of a tree's channel inside two nodes: at first what it gets between them, then step by step more, up to the
/// first speed that is twice that, while the members' links carry all channels.
/// @param inside  GB/s that the trees of one node carry together
/// @source  models/libraries/SOURCES.md, "Graph era: search"
double raised_tree_speed(const Version& version, int sm, double network, int channels, double inside) {
  double best = network;
  const std::vector<double>& speeds = speeds_of(version.search.speeds, sm);
  for (auto speed = speeds.rbegin(); speed != speeds.rend(); ++speed) {
    if (*speed <= best) continue;
    if (best >= 2 * network || channels * *speed > inside) break;
    best = *speed;
  }
  return best;
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

}  // namespace

Communicator build_across(const Version& version, const Cluster& cluster, const std::vector<int>& gpus, int nodes) {
  check_nodes(cluster, gpus, nodes);
  Communicator made =
      gpus.size() == 1 ? alone(version, gpus.front()) : build_communicator(version, cluster.node(), gpus);
  const std::map<int, int> entries = nic_heads(cluster, gpus);
  const int sm = least_sm(cluster.node(), gpus), most = version.search.max_channels / 2;
  const int found = static_cast<int>(entries.size());
  const double speed = channel_speed(version, cluster, sm);
  const int factor = std::min(split_factor(version.search, sm, found, speed), std::max(1, most / found));
  made.nodes = nodes;
  made.nics_near = nics_within_switches(cluster, entries);
  made.leaves_at_entry = version.search.proxies_to_nic;
  made.network_channel_bandwidth = {speed / factor * kGiga};
  const double inside = static_cast<double>(made.trees.size()) * made.tree_channel_bandwidth.si / kGiga;
  made.tree_channel_bandwidth = {raised_tree_speed(version, sm, speed / factor, found * factor, inside) * kGiga};
  made.channels = headed_rings(cluster, made.channels, entries, factor);
  made.trees.clear();
  // One channel a NIC in use: what crosses the fabric once goes up the tree and once down, in the same channel.
  made.nvls_channels = made.nvls_channels > 0 ? found : 0;
  const double network = nodes > 2 ? speed / 2 : speed;
  made.nvls_channel_bandwidth = {std::min(made.nvls_channel_bandwidth.si, network * kGiga)};
  made.why = std::to_string(made.channels.size()) + " rings over " + std::to_string(nodes) + " nodes and " +
             std::to_string(found) + " NICs of each; inside a node: " + (gpus.size() == 1 ? "one GPU" : made.why);
  return made;
}

}  // namespace linkcast::graph
