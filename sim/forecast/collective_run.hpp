#pragma once
// A collective played: alone, or beside others that begin at the same moment.
#include <optional>
#include <vector>

#include "sim/forecast/collective_messages.hpp"
#include "sim/forecast/collective_plan.hpp"
#include "sim/forecast/scheduled_run.hpp"
#include "sim/plan/plan.hpp"

namespace linkcast::collective {

struct CollectiveRun {
  CollectivePlan plan;
  double flow_s = 0;   ///< time of the bytes
  double wire_s = 0;   ///< least time of the bytes, every link at its nominal rate
  double stretch = 1;  ///< of which this part is waiting: what the links and blocks take, times this
  /// Key in the machine of what limited each of its activities, or kOwnCap; empty if the solver cannot tell. Of
  /// messages between nodes what limits those that end last.
  std::vector<int> limited_by{};
  std::optional<MessageAnswer> messages{};  ///< between nodes
  std::optional<ScheduledRun> scheduled{};  ///< rounds of messages: all of its time is flow_s
  double share = 1;                         ///< near a tie: how likely it is
  double row = 1;                           ///< near a tie: own_s() times this, if it is what runs
  double choice = 1;                        ///< near a tie: own_s() times this, with all that may run
  std::vector<CollectiveRun> instead{};     ///< near a tie: what else may run, the likeliest first
  /// As this row runs by itself.
  [[nodiscard]] double own_s() const { return plan.latency_s + flow_s; }
  /// Near a tie the mean of all that may run, of logarithms; else own_s().
  [[nodiscard]] double time_s() const { return own_s() * choice; }
};

/// Reads a collective's times from the solution of its problem, with nothing else in it, and adds what its blocks wait
/// for each other.
void read_solution(const CollectiveJob& job, activities::ClusterProblem& problem, const Solution& solution,
                   CollectiveRun& run);

/// With nothing else going on.
CollectiveRun run_alone(const CollectiveJob& job, Solver& solver, MessageParts wanted = {});
/// The same, with the problem left to the caller: of all but messages between nodes. @param problem  empty
CollectiveRun run_alone(const CollectiveJob& job, Solver& solver, activities::ClusterProblem& problem);

/// A collective as activities that share links with whatever else runs: with nothing else they take what it takes
/// alone. Blocks that wait for their turn move nothing, and others use the links meanwhile; so a collective with such
/// waits has limits of its own, lower than the links' by the same factor. Of messages between nodes one activity stands
/// for all, with the share of each link that so many have. Rounds of messages: scheduled_to_share().
struct SharedRun {
  CollectiveRun run;      ///< alone
  activities::Plan plan;  ///< without spread and warnings: see forecast_to_share()
};
SharedRun run_to_share(const CollectiveJob& job, Solver& solver);

/// The same collective with nothing else going on, and beside the others.
struct Contended {
  CollectiveRun alone, together;
  bool shared_late = false;  ///< Solution::late_shares, of all together
  [[nodiscard]] double slowdown() const { return together.time_s() / alone.time_s(); }
};

/// The plan of a job gets the keys of the machine that it shares.
void share(const CollectiveJob& job, const Cluster& shared, activities::Plan& plan);

/// @param shared  machine of all jobs. @returns  in the same order
std::vector<Contended> run_together(const std::vector<CollectiveJob>& jobs, const Cluster& shared, Solver& solver);

}  // namespace linkcast::collective
