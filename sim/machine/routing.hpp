#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "sim/machine/topology.hpp"

namespace linkcast {

/// Which links a route may take and which devices it may pass through (its ends are always allowed).
struct RoutingRule {
  std::function<bool(const Cable&)> allows;
  std::function<bool(const Device&)> transit;
  bool end_to_end = true;  ///< false: not by a cable from GPU to GPU
};

/// Links that routes may take by one rule, by the device that they leave. Topology and links outlive it.
class RouteGraph {
 public:
  RouteGraph(const Topology& topology, const std::vector<Link>& links, const RoutingRule& rule);

 private:
  friend class RoutesFrom;
  const std::vector<Link>* links_;
  std::vector<std::vector<int>> leaving_;  ///< per device, in the order of the links
  std::vector<char> transit_{};            ///< per device: routes may pass
};

/// Routes of fewest hops from one device to the others, found breadth first; ties go to the link listed first. The
/// links outlive it.
class RoutesFrom {
 public:
  RoutesFrom(const RouteGraph& graph, int source);

  /// @returns nullopt if the target cannot be reached
  [[nodiscard]] std::optional<Route> to(int target) const;

 private:
  const std::vector<Link>* links_;
  int source_;
  std::vector<int> found_by_;  ///< per device the link that reached it first, -1 for none
};

/// Peer access over NVLink-like cables, only switches in between.
RoutingRule accelerator_rule();
/// Peer access over NVLink-like cables through at least one switch.
RoutingRule switched_rule();
/// Peer access over Infinity Fabric, which forwards through other GPUs.
/// @source  paper 002 (SC24), section III-D: copies from one GCD reach every other
RoutingRule forwarding_rule();
/// From a device to a CPU: PCIe (and accelerator cables that end at a CPU), PCIe switches in between.
RoutingRule host_rule();
/// Peer access over PCIe: through switches and one root complex; from CPU to CPU where all pairs have it.
RoutingRule pcie_peer_rule(PciePeer peers);
/// CPU to CPU.
RoutingRule socket_rule();

/// All switches of one group become one device of that name; parallel cables add their counts.
Topology merge_switch_planes(const Topology& topology);

}  // namespace linkcast
