#pragma once
#include "sim/machine/fabric.hpp"

namespace linkcast::query {

/// Answer of `show --fabric`: size, classes of links with their load under an alltoall, bisection, expected peaks.
/// @param links  list every link with the names of its ends as well
Json fabric_answer(const Topology& topology, const BuiltFabric& built, bool links);

/// The fabric of a topology; if `file` is not empty, that of the "fabric" object in this file.
BuiltFabric fabric_of(Topology topology, const std::string& file);

}  // namespace linkcast::query
