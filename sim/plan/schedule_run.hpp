#pragma once
// A schedule of messages on a cluster: every message a flow, or a few rounds that stand for all where they are many.
#include <map>
#include <string>
#include <vector>

#include "sim/machine/schedule.hpp"
#include "sim/plan/cluster_message.hpp"
#include "sim/plan/key_table.hpp"
#include "sim/plan/mpi_costs.hpp"

namespace linkcast::activities {

struct ScheduleJob {
  const Cluster& cluster;
  std::vector<ClusterEnd> ranks;  ///< GPUs, or the CPUs next to them if the buffers are in host memory
  int per_node = 1;               ///< ranks
  double size_B = 0;
  CombineCost combine;
  std::string transport{};  ///< of messages between nodes; empty: what the library would take
  MessageCosts costs{};
};

/// Whether every round is simulated, or a few of them.
enum class Rounds { kAll, kSteady, kAsMany };  ///< kAsMany: all where they are not too many

struct ScheduleTimes {
  double time_s = 0;
  double latency_s = 0;   ///< of it start-ups and posting: what would be left of messages of no bytes
  double first_s = 0;     ///< of latency_s: start-up of the first message
  double posting_s = 0;   ///< of latency_s: posting of messages
  double starting_s = 0;  ///< of latency_s: starts of reductions
  double combine_s = 0;   ///< most that one chain of messages spends reducing
  CombineCost combine;    ///< at this rate
  int rounds = 0;
  bool steady = false;                        ///< some rounds stood for others
  std::map<std::string, double> transport_B;  ///< bytes simulated with each curve
  std::map<int, double> limit_B;              ///< bytes that each constraint limited, by its key in the cluster
  KeyTable<double> load_B{0};                 ///< of steady state: bytes on each constraint, by its key
  double wire_s = 0;                          ///< least time of all messages, ClusterProblem::wire_bound_s()
  double chain_B = 0;                         ///< of steady state: of the largest messages, one after the other
  bool stand_in = false;
  double rate_error = 0;     ///< largest of a message
  double delay_error_s = 0;  ///< of latency_s: standard errors of its start-ups, one after the other
};

/// Every message as an activity, after those that it waits for, with its crossings of the fabric.
/// @throws InputError  too many messages for all of them
ClusterProblem schedule_problem(const ScheduleJob& job, const Schedule& schedule);

/// Where the fabric routes adaptively, detours are settled for the messages of each group of rounds together.
/// @throws InputError  too many messages even for a few rounds
ScheduleTimes run_schedule(const ScheduleJob& job, const Schedule& schedule, Solver& solver,
                           Rounds rounds = Rounds::kAsMany);

}  // namespace linkcast::activities
