#pragma once
// Many equal nodes on a fabric. Nothing is stored per node: constraint c of node n has the key n x C + c, where C is
// the number of constraints of one node; directed link l of the fabric has the key nodes x C + l;
// engines of NICs come after them.
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/machine/fabric.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast {

// What adapters and cables attain of their nominal rate where no message was measured, and the standard error of the
// logarithm. source: public tables of nccl-tests on eight of 50 GB/s a node: 355 to 377 GB/s of 400; all_reduce of 4
// GiB on Alps 87 of 100, of 32 MiB on 8 ABCI nodes of V100 21 of 25, with the flags of LL128
inline constexpr double kUnmeasuredShare = 0.92, kUnmeasuredError = 0.06;

/// A GPU of a cluster.
struct ClusterGpu {
  int node = 0;
  int gpu = 0;  ///< number inside its node
};

class Cluster {
 public:
  /// One node with no fabric. @param node  outlives the cluster
  explicit Cluster(const Platform& node);
  /// @param node  outlives the cluster
  /// @param nics  ids of the node's NICs that the fabric joins, in the order of its endpoints
  /// @param flows  of one connection, where the fabric hashes (ecmp)
  /// @throws InputError  a GPU has no way to one of them
  Cluster(const Platform& node, std::shared_ptr<const Fabric> fabric, FabricRouting routing,
          const std::vector<std::string>& nics, int flows = 1);
  /// This cluster of nodes that differ from node() in parameters of libraries alone. @param node  outlives the cluster
  [[nodiscard]] Cluster with_node(const Platform& node) const;

  [[nodiscard]] const Platform& node() const { return *node_; }
  /// Not of one node alone.
  [[nodiscard]] const Fabric& fabric() const { return *fabric_; }
  [[nodiscard]] FabricRouting routing() const { return routing_; }
  [[nodiscard]] int flows() const { return flows_; }
  /// That the fabric has room for.
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int nics() const { return static_cast<int>(nics_.size()); }
  /// Ids of the node's NICs that the fabric joins, in the order of its endpoints.
  [[nodiscard]] std::vector<std::string> nic_ids() const;

  /// Device index of a NIC by its number. Numbers are in the order of the fabric's endpoints.
  [[nodiscard]] int nic_device(int nic) const { return nics_[static_cast<std::size_t>(nic)]; }
  /// NIC number next to a GPU of a node; GPUs as near to several take turns.
  [[nodiscard]] int nic_of(int gpu) const { return nic_of_[static_cast<std::size_t>(gpu)]; }
  /// Links of the node between a GPU and its NIC.
  [[nodiscard]] const Route& to_nic(int gpu) const { return to_nic_[static_cast<std::size_t>(gpu)]; }
  [[nodiscard]] const Route& from_nic(int gpu) const { return from_nic_[static_cast<std::size_t>(gpu)]; }
  /// Links between a CPU (device index) and the NIC nearest to it, and the number of that NIC.
  [[nodiscard]] const std::pair<std::vector<int>, int>& host_way(int cpu) const;
  [[nodiscard]] bool reaches(int device, int nic) const { return ways_.count({device, nic}) > 0; }
  /// Links between a GPU or CPU (device index) and a NIC of its node, not through other GPUs.
  /// @throws InputError  there is no way
  [[nodiscard]] const std::vector<int>& way_to_nic(int device, int nic) const;
  /// The fewest NICs that carry a rate which messages between two nodes were measured to have, at most all of a node.
  [[nodiscard]] int nics_for(double measured_Bps) const;
  [[nodiscard]] int endpoint(int node, int nic) const { return node * nics() + nic; }
  /// How many times as long as it should the NIC at an endpoint takes for its bytes (an edit); 1 of a switch.
  [[nodiscard]] double slow_at(int vertex) const;

  [[nodiscard]] int key(int node, int constraint) const { return node * per_node_ + constraint; }
  [[nodiscard]] int key_of_fabric_link(int link) const { return nodes_ * per_node_ + link; }
  /// Whether the card at an endpoint moves bytes by an engine of its own: it gives all its messages together what it
  /// gives one, each direction by itself.
  [[nodiscard]] bool has_engine(int endpoint) const;
  [[nodiscard]] int first_engine_key() const { return key_of_fabric_link(fabric_->links()); }
  /// What an engine that no edit slows gives long messages, bytes/s: one of another rate holds it for as much longer.
  [[nodiscard]] double engine_Bps() const { return engine_Bps_; }
  /// Time of the card's processor, which receives as well, to start a message of GPU memory; 0 without an engine.
  [[nodiscard]] double engine_start_s(int endpoint) const;
  [[nodiscard]] int key_of_engine(int endpoint, bool sends) const {
    return first_engine_key() + 2 * endpoint + (sends ? 0 : 1);
  }

  /// "node3/gpu0->gpu1", "nic7->group0/switch1", "nic7 sends"
  [[nodiscard]] std::string id(int key) const;
  /// Bytes/s. A link of the fabric has its nominal rate times wire_share(); at a slow NIC (an edit) less.
  [[nodiscard]] double capacity(int key) const;
  /// Of a link of the fabric: true if some message between nodes was measured on this machine.
  [[nodiscard]] bool calibrated(int key) const;
  /// Standard error over value of its capacity.
  [[nodiscard]] double rel_error(int key) const;
  /// What a message is held up by links on its way that send again, seconds. @param keys  of links
  [[nodiscard]] double resend_s(const std::vector<int>& keys) const;
  /// What messages between two nodes attained at most, of the nominal rate of a NIC's cable; 1 if none was measured.
  [[nodiscard]] double wire_share() const { return wire_share_; }
  /// What a way of this latency, as data sheets add it up, adds to what was measured between neighbours, endpoints as
  /// near as any.
  [[nodiscard]] Seconds beyond_nearest(Seconds way) const {
    return {latency_scale_ * std::max(0.0, way.si - nearest_.si)};
  }

 private:
  void find_nics();
  void find_host_ways();
  void find_ways();
  void find_wire_share();
  void find_engine_rate();
  void find_retry_rates();
  /// The nearest NIC of a device; of several the one that fewest came to. @returns -1 if there is no way
  int nearest_nic(int device, std::vector<int>& users) const;

  const Platform* node_;
  std::shared_ptr<const Fabric> fabric_;
  FabricRouting routing_ = FabricRouting::kMinimal;
  int flows_ = 1;
  int nodes_ = 0, per_node_ = 0;
  std::vector<int> nics_;    ///< device indices
  std::vector<int> nic_of_;  ///< per GPU number
  std::vector<Route> to_nic_, from_nic_;
  std::map<int, std::pair<std::vector<int>, int>> host_ways_;  ///< by CPU (device index)
  std::map<std::pair<int, int>, std::vector<int>> ways_;       ///< by device index and number of the NIC
  Seconds nearest_;
  double latency_scale_ = 1;  ///< measured over nominal, of ways between switches
  double wire_share_ = 1;
  double wire_error_ = 0;            ///< standard error of its logarithm
  std::vector<double> retry_rates_;  ///< per class of the fabric's links
  double engine_Bps_ = 0;
  double port_Bps_ = std::numeric_limits<double>::infinity();  ///< nominal, of the cable at a NIC
  bool measured_ = false;
};

}  // namespace linkcast
