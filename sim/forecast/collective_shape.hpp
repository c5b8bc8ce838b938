#pragma once
// Forecasts of collectives on one node for those who ask for thousands of them: what a query of kind "collective"
// answers about time, without JSON around it.
#include <optional>
#include <string>
#include <vector>

#include "sim/forecast/collective_forecast.hpp"
#include "sim/machine/catalogue.hpp"

namespace linkcast::collective {

/// One collective. @param gpus  in rank order
struct CollectiveAsk {
  std::string op;
  std::vector<int> gpus;
  double size_B = 0;
  std::vector<double> parts_B{};   ///< of an operation whose parts differ: Collective::parts_B()
  const Algorithm* own = nullptr;  ///< a user's schedule, in the place of the library's choice
};

struct CollectiveTimes {
  double time_s = 0, low_s = 0, high_s = 0;  ///< with a 90 % interval
};

/// The first of `all` with the others beside it.
/// @throws InputError
CollectiveForecast forecast_collectives(catalogue::Catalogue& catalogue, const catalogue::Machine& machine,
                                        const std::string& library, const std::vector<CollectiveAsk>& all);

/// The time of one with nothing beside it, of a communicator at hand. @throws InputError
CollectiveTimes forecast_alone(const Cluster& machine, const Library& library, const Communicator& communicator,
                               const std::string& op, double size_B, Solver& solver);

/// Everything about a communicator that the time of an operation depends on, whatever its size: which GPUs there are
/// is not among it. Two with the same text have the same forecast_alone() to the last digit.
/// @returns  nullopt  of operations made of messages
std::optional<std::string> collective_shape(const Platform& platform, const Communicator& communicator,
                                            const std::string& op);

}  // namespace linkcast::collective
