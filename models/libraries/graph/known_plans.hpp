#pragma once
// Sets of GPUs that look alike to the search share one: it reads nothing but the node model and the paths.
#include "models/libraries/graph/channel_plan.hpp"

namespace linkcast::graph {

/// As Planner(model, paths, traits).plan(), which is made once for all sets that are the same in every figure and
/// number that it reads: those that a symmetry of the machine which keeps the order of GPUs maps onto each other.
/// May be called by several threads.
/// @param traits  of versions(): told apart by their address
[[nodiscard]] ChannelPlan plan_of(const NodeModel& model, const PathTable& paths, const SearchTraits& traits);

}  // namespace linkcast::graph
