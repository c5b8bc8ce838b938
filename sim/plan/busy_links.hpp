#pragma once
// For operations of many messages that start together: how long the busiest port or link is held, with the bytes
// between two switches slowed down. It is what limits the operation, so its time changes by the same factor.
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/engine/problem.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/plan/cluster_problem.hpp"
#include "sim/plan/key_table.hpp"
#include "sim/plan/message_ways.hpp"
#include "sim/plan/slowed_problem.hpp"
#include "sim/plan/switch_pairs.hpp"

namespace linkcast::congestion {

// What an alltoall over many nodes puts on its ports and between switches, without looking at single messages.

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

// An alltoall over many nodes from the bytes on its links, without looking at single messages. Exact: see
// reduced_alltoall.cpp.

struct ReducedAlltoall {
  double time_s = 0;
  double wire_s = 0;          ///< least time at nominal rates, ClusterProblem::wire_bound_s()
  std::vector<int> limits{};  ///< keys in the cluster of what is busy all the time; of what is alike in all nodes, one
  double messages = 0;
  std::size_t classes = 0;   ///< pairs of switches, and of GPUs of a node, whose messages are alike
  double farthest_s = 0;     ///< latency of the fabric on the longest way
  std::vector<Use> loads{};  ///< by key, of all nodes, per byte of one message: where asked for
};

/// Why the messages cannot be taken together.
struct Irregular {
  std::string why;
};

std::variant<ReducedAlltoall, Irregular> reduce_alltoall(const Cluster& cluster, const UniformTraffic& traffic,
                                                         bool keep_loads = false);

class BusyLinks {
 public:
  /// Every message as an activity. @param made  keeps its crossings
  static BusyLinks of_messages(activities::ClusterProblem& made);
  /// The same of an alltoall, from what all messages between two switches have in common.
  static BusyLinks of_alltoall(const Cluster& cluster, const UniformTraffic& traffic);

  [[nodiscard]] double busiest_s(const Slowdown& slowdown) const;
  /// Each rank's last message: what waits after the others have come.
  [[nodiscard]] const std::vector<NoisyWay>& last() const { return last_; }

 private:
  class FromAlltoall;
  struct Held {              ///< of a link
    int link = 0, pair = 0;  ///< dense numbers
    double seconds = 0;
  };
  std::size_t pair_of(const NoisyWay& way);
  void hold(std::size_t pair, int key, double seconds);
  /// No more is held: what is, link by link, the busiest without noise first, of each the pairs in their order.
  void arrange();

  std::map<std::pair<int, int>, std::size_t> pair_;  ///< number of each pair of switches
  activities::KeyTable<int> link_{-1};               ///< number of each key
  struct Link {
    double seconds = 0;   ///< without noise
    std::size_t end = 0;  ///< in held_
  };
  std::vector<Link> links_;
  std::vector<NoisyWay> pairs_;             ///< one message that stands for them
  std::vector<std::vector<Held>> of_pair_;  ///< until they are arranged
  std::vector<Held> held_;
  std::vector<NoisyWay> last_;
};

}  // namespace linkcast::congestion
