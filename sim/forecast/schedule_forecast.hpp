#pragma once
// What a forecast of a collective says that sends messages by a schedule, on one node or several.
#include <set>
#include <string>
#include <vector>

#include "sim/forecast/collective_result.hpp"
#include "sim/forecast/collective_run.hpp"

namespace linkcast::collective {

/// Kind of a job for its misfit: its operation counts as fitted only if collectives of its library were.
uncertainty::Kind misfit_kind(const CollectiveJob& job, bool messages);

/// Why no schedule of messages can take the job's transport between nodes; empty where it can, or names none.
std::string transport_refusal(const CollectiveJob& job);

/// Of a run of rounds of messages, alone or with others.
CollectiveForecast forecast_of_rounds(const CollectiveJob& job, const CollectiveRun& run);
/// All terms of such a run. @param warnings  gets that of a size outside the calibrated range
/// @param waited_s  of its time, for other collectives
uncertainty::Terms terms_of_rounds(const CollectiveJob& job, const CollectiveRun& run, double waited_s,
                                   std::set<std::string>& warnings);

/// The other algorithms that have the operation, where all messages are simulated.
Alternatives other_schedules(const CollectiveJob& job, const CollectiveRun& taken, Solver& solver);

/// Algorithms that have an operation, by name: those of equal parts for one whose parts may differ.
std::vector<std::string> algorithms_for(const std::string& op);

}  // namespace linkcast::collective
