#pragma once
// Collectives of libraries that send messages by a schedule, on one node or several.
#include <string>
#include <vector>

#include "sim/collective/collective_forecast.hpp"
#include "sim/congestion/network_load.hpp"

namespace linkcast::collective {

/// Rounds of messages are no steady flows: what they take of a link changes from round to round.
inline constexpr const char* kNoSharedSchedule =
    "rounds of MPI messages are forecast alone: what they take of a link changes from round to round";

/// Ranks of a library that has schedules: they are all that there is to its communicators. @param gpus  of each node
Communicator schedule_ranks(const std::string& library, int nodes, std::vector<int> gpus);

/// Why no schedule of messages can take the job's transport between nodes; empty where it can, or names none.
std::string transport_refusal(const CollectiveJob& job);

/// The library's choice, or the algorithm that the job forces.
/// @param job  of a library that has schedules
/// @param alternatives  forecast the other algorithms too, where all messages are simulated
CollectiveForecast schedule_forecast(const CollectiveJob& job, bool alternatives, Solver& solver);

/// With noise of other jobs on its messages between nodes: that of the median draw.
/// @throws InputError  too many messages for all of them
CollectiveForecast schedule_in_noise(const CollectiveJob& job, const congestion::NetworkLoad& load, Solver& solver);

/// Algorithms that have an operation, by name: those of equal parts for one whose parts may differ.
std::vector<std::string> algorithms_for(const std::string& op);

}  // namespace linkcast::collective
