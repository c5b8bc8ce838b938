#pragma once
// What the library believes of its choice beside what it could have taken instead, forecast.
#include "sim/forecast/collective_forecast.hpp"

namespace linkcast::collective {

/// Of rings and trees, by the library's cost model; each forecast alone.
Alternatives alternatives_to(const CollectiveJob& job, const CollectiveForecast& taken, Solver& solver);

}  // namespace linkcast::collective
