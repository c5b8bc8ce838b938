#pragma once
// Collectives of libraries that send messages by a schedule, on one node or several.
#include <string>
#include <vector>

#include "sim/collective/collective_forecast.hpp"

namespace linkcast::collective {

/// The library's choice, or the algorithm that the job forces.
/// @param job  of a library that has schedules
/// @param alternatives  forecast the other algorithms too, where all messages are simulated
CollectiveForecast schedule_forecast(const CollectiveJob& job, bool alternatives, Solver& solver);

/// Algorithms that have an operation, by name: those of equal parts for one whose parts may differ.
std::vector<std::string> algorithms_for(const std::string& op);

}  // namespace linkcast::collective
