#pragma once
// Operations over several nodes that are made of messages between pairs of ranks: alltoall, sendrecv, gather, scatter.
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/forecast/busy_links.hpp"
#include "sim/forecast/collective_job.hpp"
#include "sim/platform/cluster.hpp"

namespace linkcast {

struct MessageJob {
  const Cluster& cluster;
  const Library& library;
  const Communicator& communicator;
  const Collective& op;
  std::string op_name;
  double size_B = 0;
  std::string engine{};     ///< direct, reduced; empty: reduced where that is exact
  bool keep_links = false;  ///< the answer has the busy links in it
};

struct MessageAnswer {
  Run run;
  std::string engine;      ///< direct: every message is an activity; reduced: every class of them
  std::string why_direct;  ///< of an alltoall: why its messages were not taken together
  double messages = 0;
  std::size_t classes = 0;    ///< activities
  std::vector<int> limits{};  ///< keys in the cluster of what limits the messages that end last
  std::optional<BusyLinks> busy{};
  bool minimal_only = false;  ///< the fabric could take detours and the forecast has none
};

/// @throws InputError  the library has no messages; too many that cannot be taken together
MessageAnswer run_messages(const MessageJob& job, Solver& solver);

}  // namespace linkcast
