#pragma once
// Operations that are made of messages between pairs of ranks: alltoall, sendrecv, gather, scatter.
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/forecast/collective_plan.hpp"
#include "sim/plan/busy_links.hpp"

namespace linkcast::collective {

/// What messages between nodes add up to, should somebody want more than their time.
struct MessageParts {
  bool busy = false, loads = false;
};

/// Messages between nodes.
struct MessageAnswer {
  CollectivePlan plan;
  double flow_s = 0;
  double wire_s = 0;         ///< CollectiveRun::wire_s
  std::string engine{};      ///< direct: every message is an activity; reduced: bytes on each link are summed
  std::string why_direct{};  ///< of an alltoall: why its messages were not taken together
  double messages = 0;
  std::size_t classes = 0;  ///< activities, or sorts of messages that are alike
  /// Keys in the cluster of what limits the messages that end last; kOwnCap alone: no link, but their blocks.
  std::vector<int> limits{};
  std::optional<congestion::BusyLinks> busy{};  ///< where asked for
  bool shared_late = false;                     ///< Solution::late_shares
  int most_ways = 0;                            ///< of each kind between two NICs, where they stand for more
  std::vector<Use> loads{};                     ///< by key in the cluster, per byte of one message, where asked for
};

/// The same, each message an activity of a problem that is left to the caller. @param problem  empty
MessageAnswer run_each_message(const CollectiveJob& job, MessageParts wanted, activities::ClusterProblem& problem,
                               Solver& solver);
/// MessageAnswer::limits.
std::vector<int> last_limits(const activities::ClusterProblem& problem, const Solution& solution);
/// @throws InputError  more ranks than the direct engine takes
void check_ranks(const CollectiveJob& job, const std::string& why_direct);

/// @throws InputError  the library has no messages; too many that cannot be taken together
MessageAnswer run_messages(const CollectiveJob& job, MessageParts wanted, Solver& solver);

}  // namespace linkcast::collective
