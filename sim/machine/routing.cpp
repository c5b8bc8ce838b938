#include "sim/machine/routing.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/filtered_graph.hpp>

#include "sim/records/cable_kinds.hpp"

namespace linkcast {
namespace {

using LinkGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                                        boost::property<boost::edge_index_t, int>>;

struct EdgeAllowed {
  const LinkGraph* graph = nullptr;
  const std::vector<char>* allowed = nullptr;
  bool operator()(const LinkGraph::edge_descriptor& edge) const {
    return (*allowed)[static_cast<std::size_t>(boost::get(boost::edge_index, *graph, edge))] != 0;
  }
};

/// Remembers the edge each vertex was found by.
class Discovery : public boost::default_bfs_visitor {
 public:
  Discovery(const LinkGraph& graph, std::vector<int>& found_by) : graph_(&graph), found_by_(&found_by) {}
  template <class Edge, class G>
  void tree_edge(const Edge& edge, const G& filtered) {
    (*found_by_)[boost::target(edge, filtered)] = boost::get(boost::edge_index, *graph_, edge);
  }

 private:
  const LinkGraph* graph_;
  std::vector<int>* found_by_;
};

/// Links that leave a device where a route may begin or pass; it may end anywhere.
std::vector<char> allowed_links(const Topology& topology, const std::vector<Link>& links, int source,
                                const RoutingRule& rule) {
  std::vector<char> leaves, fits, allowed;
  for (const Device& device : topology.devices) leaves.push_back(rule.transit(device));
  leaves[static_cast<std::size_t>(source)] = 1;
  for (const Cable& cable : topology.cables) fits.push_back(rule.allows(cable));
  for (const Link& link : links)
    allowed.push_back(fits[static_cast<std::size_t>(link.cable)] && leaves[static_cast<std::size_t>(link.from)]);
  return allowed;
}

}  // namespace

RoutesFrom::RoutesFrom(const Topology& topology, const std::vector<Link>& links, int source, const RoutingRule& rule)
    : links_(&links), source_(source), found_by_(topology.devices.size(), -1) {
  LinkGraph graph(topology.devices.size());
  for (std::size_t i = 0; i < links.size(); ++i)
    boost::add_edge(static_cast<std::size_t>(links[i].from), static_cast<std::size_t>(links[i].to), static_cast<int>(i),
                    graph);
  const auto allowed = allowed_links(topology, links, source, rule);
  const boost::filtered_graph<LinkGraph, EdgeAllowed> filtered(graph, EdgeAllowed{&graph, &allowed});
  boost::breadth_first_search(filtered, static_cast<std::size_t>(source), boost::visitor(Discovery(graph, found_by_)));
}

std::optional<Route> RoutesFrom::to(int target) const {
  Route route;
  for (int at = target; at != source_; at = (*links_)[static_cast<std::size_t>(route.links.back())].from) {
    const int link = found_by_[static_cast<std::size_t>(at)];
    if (link < 0) return std::nullopt;
    route.links.push_back(link);
  }
  std::reverse(route.links.begin(), route.links.end());
  return route;
}

std::optional<Route> shortest_route(const Topology& topology, const std::vector<Link>& links, int source, int target,
                                    const RoutingRule& rule) {
  return RoutesFrom(topology, links, source, rule).to(target);
}

RoutingRule accelerator_rule() {
  return {[](const Cable& cable) { return is_accelerator_cable(cable.kind); },
          [](const Device& device) { return device.kind == DeviceKind::kNvswitch; }};
}
RoutingRule forwarding_rule() {
  return {[](const Cable& cable) { return trait_of(cable.kind) == CableTrait::kForwarded; },
          [](const Device& device) { return device.kind == DeviceKind::kGpu; }};
}
RoutingRule host_rule() {
  return {[](const Cable& cable) { return is_pcie_cable(cable.kind) || is_accelerator_cable(cable.kind); },
          [](const Device& device) { return device.kind == DeviceKind::kPcieSwitch; }};
}
RoutingRule pcie_peer_rule() {
  return {
      [](const Cable& cable) { return is_pcie_cable(cable.kind); },
      [](const Device& device) { return device.kind == DeviceKind::kPcieSwitch || device.kind == DeviceKind::kCpu; }};
}
RoutingRule socket_rule() {
  return {[](const Cable& cable) { return is_socket_cable(cable.kind); },
          [](const Device& device) { return device.kind == DeviceKind::kCpu; }};
}

Topology merge_switch_planes(const Topology& topology) {
  Topology merged = topology;
  merged.devices.clear();
  merged.cables.clear();
  std::vector<int> now;  // old device index -> new one
  for (const Device& device : topology.devices) {
    const bool plane = device.kind == DeviceKind::kNvswitch && !device.group.empty();
    const auto existing = merged.find(plane ? device.group : device.id);
    now.push_back(existing.value_or(static_cast<int>(merged.devices.size())));
    if (existing) continue;
    merged.devices.push_back(device);
    if (plane) merged.devices.back().id = device.group;
  }
  for (Cable cable : topology.cables) {
    cable.a = now[static_cast<std::size_t>(cable.a)];
    cable.b = now[static_cast<std::size_t>(cable.b)];
    const auto same = std::find_if(merged.cables.begin(), merged.cables.end(), [&](const Cable& other) {
      return other.kind == cable.kind && std::minmax(other.a, other.b) == std::minmax(cable.a, cable.b);
    });
    if (same != merged.cables.end()) {
      same->count += cable.count;
      same->bandwidth = std::min(same->bandwidth, cable.bandwidth);  // striped evenly: the slowest sets the pace
      same->reported = std::min(same->reported_bandwidth(), cable.reported_bandwidth());
      same->edited = same->edited || cable.edited;
      continue;
    }
    cable.id = merged.devices[static_cast<std::size_t>(cable.a)].id + "-" +
               merged.devices[static_cast<std::size_t>(cable.b)].id;
    merged.cables.push_back(cable);
  }
  merged.index();
  return merged;
}

}  // namespace linkcast
