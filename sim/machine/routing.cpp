#include "sim/machine/routing.hpp"

#include <algorithm>

#include "sim/base/index.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast {
RouteGraph::RouteGraph(const Topology& topology, const std::vector<Link>& links, const RoutingRule& rule)
    : links_(&links), leaving_(topology.devices.size()) {
  std::vector<char> allowed;
  for (const Cable& cable : topology.cables) allowed.push_back(rule.allows(cable));
  for (const Device& device : topology.devices) transit_.push_back(rule.transit(device));
  const auto is_end = [&](int device) { return topology.devices[at(device)].kind == DeviceKind::kGpu; };
  for (std::size_t i = 0; i < links.size(); ++i)
    if (allowed[at(links[i].cable)] && (rule.end_to_end || !is_end(links[i].from) || !is_end(links[i].to)))
      leaving_[at(links[i].from)].push_back(static_cast<int>(i));
}

RoutesFrom::RoutesFrom(const RouteGraph& graph, int source)
    : links_(graph.links_), source_(source), found_by_(graph.leaving_.size(), -1) {
  std::vector<int> reached{source};
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const int device = reached[next];
    if (device != source && !graph.transit_[at(device)]) continue;
    for (const int link : graph.leaving_[at(device)]) {
      const int to = (*links_)[at(link)].to;
      if (to == source || found_by_[at(to)] >= 0) continue;
      found_by_[at(to)] = link;
      reached.push_back(to);
    }
  }
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

RoutingRule accelerator_rule() {
  return {[](const Cable& cable) { return is_accelerator_cable(cable.kind); },
          [](const Device& device) { return device.kind == DeviceKind::kNvswitch; }};
}
RoutingRule switched_rule() {
  return {[](const Cable& cable) { return is_accelerator_cable(cable.kind); },
          [](const Device& device) { return device.kind == DeviceKind::kNvswitch; }, false};
}
RoutingRule forwarding_rule() {
  return {[](const Cable& cable) { return trait_of(cable.kind) == CableTrait::kForwarded; },
          [](const Device& device) { return device.kind == DeviceKind::kGpu; }};
}
RoutingRule host_rule() {
  return {[](const Cable& cable) { return is_pcie_cable(cable.kind) || is_accelerator_cable(cable.kind); },
          [](const Device& device) { return device.kind == DeviceKind::kPcieSwitch; }};
}
RoutingRule pcie_peer_rule(PciePeer peers) {
  const bool across = peers == PciePeer::kAll;
  return {
      [across](const Cable& cable) { return is_pcie_cable(cable.kind) || (across && is_socket_cable(cable.kind)); },
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
