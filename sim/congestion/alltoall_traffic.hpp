#pragma once
// What an alltoall over many nodes puts on its ports and between switches, without looking at single messages.
#include <vector>

#include "sim/congestion/switch_pairs.hpp"
#include "sim/platform/cluster.hpp"

namespace linkcast::congestion {

/// Every member of every node sends one message to every other member.
struct UniformTraffic {
  int nodes = 0;            ///< the first ones of the cluster
  std::vector<int> gpus{};  ///< members of each
  double bytes = 0;         ///< payload of a message
  double stored = 1;        ///< bytes on the links per byte of payload
  double rate_cap_Bps = 0;  ///< most payload of one message
};

class AlltoallTraffic {
 public:
  AlltoallTraffic(const Cluster& cluster, const UniformTraffic& traffic);

  [[nodiscard]] const SwitchPairs& pairs() const { return pairs_; }
  /// Messages that one member sends to other nodes.
  [[nodiscard]] double away() const { return static_cast<double>(traffic_.gpus.size()) * (traffic_.nodes - 1); }
  /// Members of a node that share the NIC next to this one.
  [[nodiscard]] int sharing(int gpu) const { return sharing_[nic(gpu)]; }
  /// Bytes that leave by the NIC next to this member, and as many that come.
  [[nodiscard]] double port_bytes(int gpu) const { return sharing(gpu) * away() * traffic_.bytes * traffic_.stored; }
  /// What stays inside a node does not pass its switches.
  [[nodiscard]] SwitchPairs::Traffic between_switches() const;

 private:
  [[nodiscard]] std::size_t nic(int gpu) const { return static_cast<std::size_t>(cluster_.nic_of(gpu)); }
  void leave_out_nodes(SwitchPairs::Traffic& messages) const;

  const Cluster& cluster_;
  const UniformTraffic& traffic_;
  SwitchPairs pairs_;
  std::vector<int> sharing_;  ///< members by NIC
};

}  // namespace linkcast::congestion
