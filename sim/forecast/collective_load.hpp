#pragma once
// Collectives over nodes in the noise of other jobs, and beside jobs that are asked for.
#include "sim/forecast/collective_forecast.hpp"
#include "sim/plan/network_load.hpp"

namespace linkcast::collective {

/// With noise, the run of the median draw. @param load  has noise, or jobs beside
/// @throws InputError  messages beside other jobs in noise, or too many
CollectiveForecast forecast_in_load(const CollectiveJob& job, const congestion::NetworkLoad& load, Solver& solver);

}  // namespace linkcast::collective
