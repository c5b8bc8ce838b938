#pragma once
// What an alltoall over many nodes puts on its ports and between switches, without looking at single messages.
#include <map>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/plan/message_ways.hpp"
#include "sim/plan/switch_pairs.hpp"

namespace linkcast::congestion {

/// Every member of every node sends one message to every other member.
struct UniformTraffic {
  int nodes = 0;              ///< the first ones of the cluster
  std::vector<int> gpus{};    ///< members of each
  double bytes = 0;           ///< payload of a message
  double stored = 1;          ///< bytes on the links per byte of payload
  double rate_cap_Bps = 0;    ///< most payload of one message
  activities::Exits exits{};  ///< which NICs its messages take
};

class AlltoallTraffic {
 public:
  AlltoallTraffic(const Cluster& cluster, const UniformTraffic& traffic);

  [[nodiscard]] const SwitchPairs& pairs() const { return pairs_; }
  /// Messages that one member sends to other nodes.
  [[nodiscard]] double away() const { return static_cast<double>(traffic_.gpus.size()) * (traffic_.nodes - 1); }
  /// NIC by which a member, by its place, gets messages.
  [[nodiscard]] int nic(std::size_t member) const { return nics_[member]; }
  /// Bytes that leave by the NIC of this member, and those that come.
  [[nodiscard]] double bytes_out(std::size_t member) const { return port_bytes(leaving_, nic(member)); }
  [[nodiscard]] double bytes_in(std::size_t member) const { return port_bytes(coming_, nic(member)); }
  /// Messages to one other node that leave by the NIC of this member for that of another.
  [[nodiscard]] int crossing(std::size_t from, std::size_t to) const { return crossing_[index(nic(from), nic(to))]; }
  /// What stays inside a node does not pass its switches.
  [[nodiscard]] SwitchPairs::Traffic between_switches() const;

 private:
  [[nodiscard]] std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(cluster_.nics()) + static_cast<std::size_t>(to);
  }
  [[nodiscard]] double port_bytes(const std::vector<int>& messages, int nic) const {
    return messages[at(nic)] * (traffic_.nodes - 1.0) * traffic_.bytes * traffic_.stored;
  }
  void add_between(int from_nic, int to_nic, SwitchPairs::Traffic& messages) const;
  /// Per switch that a NIC of that number is at: how many.
  [[nodiscard]] std::map<int, int> switches_of(int nic) const;

  const Cluster& cluster_;
  const UniformTraffic& traffic_;
  std::vector<int> nics_;  ///< by member
  SwitchPairs pairs_;
  std::vector<int> member_of_;                    ///< by NIC: one that is next to it, -1: none
  std::vector<int> leaving_, coming_, crossing_;  ///< messages of a node to another one, by NIC and by two NICs
};

}  // namespace linkcast::congestion
