#pragma once
// Operations over several nodes that are made of messages between pairs of ranks: alltoall, sendrecv, gather, scatter.
#include <optional>
#include <string>
#include <vector>

#include "sim/collective/cluster_job.hpp"
#include "sim/congestion/busy_links.hpp"
#include "sim/engine/problem.hpp"

namespace linkcast::collective {

struct MessageAnswer {
  Run run;
  std::string engine;      ///< direct: every message is an activity; reduced: bytes on each link are summed
  std::string why_direct;  ///< of an alltoall: why its messages were not taken together
  double messages = 0;
  std::size_t classes = 0;                      ///< activities, or sorts of messages that are alike
  std::vector<int> limits{};                    ///< keys in the cluster of what limits the messages that end last
  std::optional<congestion::BusyLinks> busy{};  ///< where the job asks for it
  std::vector<Use> loads{};  ///< by key in the cluster, per byte of one message, where the job asks for it
};

/// @throws InputError  the library has no messages; too many that cannot be taken together
MessageAnswer run_messages(const ClusterJob& job, Solver& solver);

}  // namespace linkcast::collective
