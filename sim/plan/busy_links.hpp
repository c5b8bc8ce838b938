#pragma once
// For operations of many messages that start together: how long the busiest port or link is held, with the bytes
// between two switches slowed down. It is what limits the operation, so its time changes by the same factor.
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "sim/plan/alltoall_traffic.hpp"
#include "sim/plan/cluster_problem.hpp"
#include "sim/plan/key_table.hpp"
#include "sim/plan/slowed_problem.hpp"

namespace linkcast::congestion {

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
