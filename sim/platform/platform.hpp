#pragma once
// A machine ready to be simulated: Topology with the rate of every link resolved from its Calibration.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/platform/topology.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast {

/// One direction of a cable.
struct Link {
  int cable = 0;
  int from = 0, to = 0;  ///< device indices
};

/// Ordered directed links from one device to another; empty only when source == target.
struct Route {
  std::vector<int> links;  ///< indices into Platform::links()
};

/// A number used by a prediction, with where it came from.
struct Resolved {
  double value = 0;
  double rel_error = 0;     ///< standard error / value
  bool calibrated = false;  ///< false: nominal or assumed, a warning is due when it decides the result
  std::string name;         ///< parameter name
};

/// Kinds of constraint a flow can be limited by.
enum class ConstraintKind { kLink, kDuplex };

/// A shared limit: one direction of a cable, or both directions of a cable together.
struct Constraint {
  ConstraintKind kind = ConstraintKind::kLink;
  int link = -1;      ///< kLink
  int cable = -1;     ///< both kinds
  std::string id;     ///< "gpu0->gpu1" or "plx0<->cpu0"
  Resolved capacity;  ///< bytes/s
};

class Platform {
 public:
  /// @throws InputError  if the calibration is for another topology, or names a cable that does not exist
  Platform(Topology topology, Calibration calibration);

  /// As simulated: NVSwitches of one group merged into one device, since a transfer is striped over all planes.
  [[nodiscard]] const Topology& topology() const { return topology_; }
  /// As built: every switch and cable of the topology file.
  [[nodiscard]] const Topology& wiring() const { return wiring_; }
  [[nodiscard]] const Calibration& calibration() const { return calibration_; }
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  /// Constraints; the first links().size() of them are the links in the same order.
  [[nodiscard]] const std::vector<Constraint>& constraints() const { return constraints_; }
  /// Duplex constraint of a cable, -1 if both directions are independent.
  [[nodiscard]] int duplex_of(int cable) const { return duplex_of_cable_[static_cast<std::size_t>(cable)]; }

  [[nodiscard]] int gpu_count() const { return static_cast<int>(topology_.gpus().size()); }
  /// Device index of GPU number k.
  [[nodiscard]] int gpu(int k) const { return topology_.gpus()[static_cast<std::size_t>(k)]; }

  /// Route of a peer copy: direct cable, or through NVSwitches, or PCIe where peer access is allowed. nullopt if none.
  [[nodiscard]] const std::optional<Route>& peer_route(int source, int target) const;
  /// Device -> the CPU it hangs on, by PCIe (or NVLink on POWER).
  [[nodiscard]] const Route& to_host(int device) const;
  [[nodiscard]] const Route& from_host(int device) const;
  /// CPU (device index) a GPU hangs on.
  [[nodiscard]] int socket_of(int device) const;
  /// CPU -> CPU; empty if the same.
  [[nodiscard]] Route between_sockets(int from_cpu, int to_cpu) const;
  /// GPUs with a direct accelerator cable to both source and target (device indices).
  [[nodiscard]] std::vector<int> relays(int source, int target) const;

  /// Parameter by name, or `fallback` marked as not calibrated.
  [[nodiscard]] Resolved parameter(const std::string& name, double fallback) const;
  /// "cable.<kind>@<id>.<what>", else "cable.<kind>.<what>"; nullopt if neither was fitted.
  [[nodiscard]] std::optional<Resolved> cable_parameter(const Cable& cable, const std::string& what) const;

 private:
  void build_links();
  void build_constraints();
  void build_host_routes();
  void build_peer_routes();
  [[nodiscard]] Resolved link_capacity(const Link& link) const;

  Topology wiring_;
  Topology topology_;
  Calibration calibration_;
  std::vector<Link> links_;
  std::vector<Constraint> constraints_;
  std::vector<int> duplex_of_cable_;
  std::vector<Route> to_host_, from_host_;
  std::vector<int> socket_of_;
  std::vector<char> towards_host_;                                   ///< per link: on the way from a device to its CPU
  std::map<std::pair<int, int>, std::optional<Route>> peer_routes_;  ///< by GPU device indices
};

}  // namespace linkcast
