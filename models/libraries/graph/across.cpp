#include "models/libraries/graph/across.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "models/libraries/graph/build.hpp"
#include "models/libraries/graph/channel_plan.hpp"
#include "models/libraries/graph/node_model.hpp"
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

/// The first member next to each NIC in use, in the order of the NICs.
std::map<int, int> heads(const Cluster& cluster, const std::vector<int>& gpus) {
  std::map<int, int> first;
  for (const int gpu : gpus) first.try_emplace(cluster.nic_of(gpu), gpu);
  return first;
}

int least_sm(const Platform& platform, const std::vector<int>& gpus) {
  int least = 1000;
  for (const int gpu : gpus)
    least = std::min(least, library_sm(platform.topology().devices[static_cast<std::size_t>(platform.gpu(gpu))]));
  return least;
}

/// GB/s of a NIC's cable, and the fastest speed of the list that it carries.
double channel_speed(const Version& version, const Cluster& cluster, int sm) {
  std::vector<int> way;
  cluster.fabric().minimal_way(0, cluster.nics(), 0, way);
  const FabricLink port = cluster.fabric().link(way.front());
  const FabricLinkClass& host = cluster.fabric().classes()[static_cast<std::size_t>(port.link_class)];
  const auto& told = cluster.node().topology().told_rates;
  const auto known = told.find(host.name);
  const double nic = (known != told.end() ? known->second : host.bandwidth).si / kGiga;
  for (const double speed : std::prev(version.search.network_speeds.upper_bound(sm))->second)
    if (speed <= nic) return speed;
  return nic;
}

/// The ring, entered at `head`.
Channel entered_at(Channel ring, int head) {
  const auto first = std::find(ring.order.begin(), ring.order.end(), head) - ring.order.begin();
  std::rotate(ring.order.begin(), ring.order.begin() + first, ring.order.end());
  if (!ring.hops.empty()) std::rotate(ring.hops.begin(), ring.hops.begin() + first, ring.hops.end());
  return ring;
}

/// A ring for each NIC, and again for each copy: the first one not used yet whose second GPU, where the second child of
/// a tree arrives, is next to a NIC that no other has there; so that trees load all NICs alike.
std::vector<Channel> headed_rings(const Cluster& cluster, const std::vector<Channel>& found,
                                  const std::map<int, int>& entries, int copies) {
  std::vector<Channel> rings;
  std::vector<int> uses(found.size(), 0);
  for (int copy = 0; copy < copies; ++copy) {
    std::set<int> seconds;
    for (const auto& [nic, head] : entries) {
      std::size_t best = 0;
      const auto cost = [&](std::size_t i) {
        const Channel ring = entered_at(found[i], head);
        const int second = cluster.nic_of(ring.order[ring.order.size() > 1 ? 1 : 0]);
        return std::make_pair(seconds.count(second) > 0 || (second == nic && entries.size() > 1), uses[i]);
      };
      for (std::size_t i = 1; i < found.size(); ++i)
        if (cost(i) < cost(best)) best = i;
      ++uses[best];
      rings.push_back(entered_at(found[best], head));
      rings.back().blocks = 2;  // channels are duplicated in the end, as on one node
      seconds.insert(cluster.nic_of(rings.back().order[rings.back().order.size() > 1 ? 1 : 0]));
    }
  }
  return rings;
}

}  // namespace

Communicator build_across(const Version& version, const Cluster& cluster, const std::vector<int>& gpus, int nodes) {
  if (gpus.empty()) throw InputError("gpus: at least one a node");
  if (nodes < 2 || nodes > cluster.nodes())
    throw InputError("nodes: the fabric of " + cluster.node().topology().name + " joins 2 to " +
                     std::to_string(cluster.nodes()));
  Communicator made =
      gpus.size() == 1 ? alone(version, gpus.front()) : build_communicator(version, cluster.node(), gpus);
  const std::map<int, int> entries = heads(cluster, gpus);
  const int sm = least_sm(cluster.node(), gpus), most = version.search.max_channels / 2;
  const int found = static_cast<int>(entries.size());
  const double speed = channel_speed(version, cluster, sm);
  const int factor = std::min(split_factor(version.search, sm, found, speed), std::max(1, most / found));
  made.nodes = nodes;
  made.leaves_at_entry = version.search.proxies_to_nic;
  made.network_channel_bandwidth = {speed / factor * kGiga};
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
