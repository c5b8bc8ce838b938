#pragma once
// Forecasts of collectives, alone and together, from finished runs.
#include <string>
#include <vector>

#include "sim/forecast/collective_result.hpp"
#include "sim/forecast/collective_run.hpp"
#include "sim/forecast/terms.hpp"

namespace linkcast::collective {

/// Of a collective alone; of the run's own time, whatever it was run in.
CollectiveForecast forecast_of(const CollectiveJob& job, const CollectiveRun& run);
/// Of the first of several that begin together.
CollectiveForecast forecast_together(const std::vector<CollectiveJob>& jobs, const std::vector<Contended>& all);
uncertainty::Interval interval_of(const CollectiveJob& job, const CollectiveRun& run);

/// As activities that share links, with spread and warnings.
activities::Plan forecast_to_share(const CollectiveJob& job, Solver& solver);

/// Links inside a node that limit hops through host memory.
std::vector<std::string> host_links(const Platform& platform, const std::vector<Hop>& hops);

}  // namespace linkcast::collective
