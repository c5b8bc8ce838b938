#pragma once
// What a library makes of a collective: activities on the links of the machine, and what comes before their bytes.
#include <string>
#include <vector>

#include "sim/activities/cluster_channels.hpp"
#include "sim/activities/cluster_problem.hpp"
#include "sim/collective/collective_cost.hpp"
#include "sim/collective/collective_job.hpp"
#include "sim/collective/switch_plan.hpp"

namespace linkcast::collective {

/// What the library takes, whichever of its interfaces says so.
struct Taken {
  std::string algorithm = "ring", protocol;
  int blocks = 0;  ///< thread blocks in use
  double payload_share = 1;
};

/// One collective as the library runs it.
struct CollectivePlan {
  Taken taken;
  CollectiveCost cost;
  double latency_s = 0;                      ///< before and beside the bytes: base and hops of the first byte
  std::vector<ErrorPart> latency_error_s{};  ///< standard error of it
  double tail_s = 0;                         ///< of a step in which blocks are busy and links idle
  double between_s = 0;                      ///< what hops between nodes take
  double hidden_s = 0;                       ///< the part of them that passes while bytes flow, not in latency_s
  int steps = 1;                             ///< hops one after the other
  double busiest_B = 0;                      ///< payload on each hop of the ring or tree that carries most
  std::vector<std::vector<Hop>> hops{};      ///< inside one node, of each activity
};

/// Adds the collective's activities to the problem. Their bytes flow from the problem's beginning on: what comes before
/// them is `latency_s`.
/// @param problem  empty, on the job's machine
/// @throws InputError  the library has no such operation or algorithm
CollectivePlan plan(const CollectiveJob& job, activities::ClusterProblem& problem);

/// What waiting on each hop between nodes adds to the latency of rings and trees, as the distances do.
double waits_s(const CollectiveJob& job, const CollectivePlan& made, const activities::HopDelay& wait_s);

/// Thread blocks in use on distinct ring or tree number i of `distinct`: they go round all of them.
int blocks_on(int i, int distinct, int blocks);

}  // namespace linkcast::collective
