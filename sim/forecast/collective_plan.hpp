#pragma once
// What a library makes of a collective: activities on the links of the machine, and the time before their bytes.
#include <string>
#include <vector>

#include "sim/forecast/algorithm.hpp"
#include "sim/forecast/collective_cost.hpp"
#include "sim/forecast/collective_job.hpp"
#include "sim/plan/cluster_problem.hpp"

namespace linkcast::collective {

/// What the library picked, whichever of its interfaces says so.
struct Choice {
  std::string algorithm{}, protocol{};
  int blocks = 0;  ///< channels in use
  double payload_share = 1;
  double in_flight_B = 0;          ///< TunerChoice::in_flight_B
  bool whole_chunks = false;       ///< TunerChoice::whole_chunks
  std::string why{};               ///< TunerChoice::why
  const Algorithm* own = nullptr;  ///< a user's algorithm; null: the registered one of this name
  /// @throws InputError  there is no such algorithm
  [[nodiscard]] const Algorithm& runs() const { return own != nullptr ? *own : algorithms().get(algorithm); }
};

/// One collective as the library runs it.
struct CollectivePlan {
  Choice choice;
  CollectiveCost cost;
  double latency_s = 0;                            ///< before the bytes: base and hops of the first byte
  std::vector<uncertainty::Term> latency_terms{};  ///< parts of it, with standard errors in seconds
  double tail_s = 0;                               ///< of a step in which blocks are busy and links idle
  double links_s = 0;                    ///< one node: least time of the bytes on the links, blocks without limits
  double between_s = 0;                  ///< hops between nodes
  double hidden_s = 0;                   ///< part of them that passes while bytes flow, not in latency_s
  int steps = 1;                         ///< hops one after the other
  double busiest_B = 0;                  ///< payload on each hop of the ring or tree that carries most
  std::vector<std::vector<Hop>> hops{};  ///< inside one node, of each activity
};

/// Adds the collective's activities to the problem. Their bytes flow from the problem's beginning on: what comes before
/// them is `latency_s`.
/// @param problem  empty, on the job's machine
/// @throws InputError  the library has no such operation or algorithm
CollectivePlan plan(const CollectiveJob& job, activities::ClusterProblem& problem);

// For algorithms that plan.

/// What the plan's choice costs on the job's communicator.
CollectiveCost cost_of(const CollectiveJob& job, const Choice& choice);

/// Hops that the first byte makes one after the other, and the latencies of the fabric on its way.
struct Steps {
  Hops hops;
  double distance_s = 0;
};
/// Costs of the choice, base and hops.
void add_latency(const CollectiveJob& job, const Steps& steps, CollectivePlan& plan);
/// Costs of an algorithm whose steps are in the base, but for `hops`, and the distances that its first byte goes
/// between nodes.
void add_table_latency(const CollectiveJob& job, CollectivePlan& plan, const Hops& hops = {});

/// Most payload per second that `blocks` thread blocks move. @param between  with a proxy at each NIC
double blocks_Bps(const CollectiveCost& cost, double blocks, bool between);
/// Thread blocks in use on distinct ring or tree number i of `distinct`: they go round all of them.
int blocks_on(int i, int distinct, int blocks);
/// Channels in use for each of `parts` equal parts.
double blocks_of_each(const CollectivePlan& plan, std::size_t parts);
/// One flow over hops inside the node.
void add_in_node(activities::ClusterProblem& problem, CollectivePlan& plan, std::vector<Hop> route,
                 const activities::ChannelLoad& load);

}  // namespace linkcast::collective
