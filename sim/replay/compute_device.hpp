#pragma once
#include <string>

#include "sim/platform/topology.hpp"

namespace linkcast::replay {

/// The GPU of a machine, where compute times of `recorded` are of another one. Empty: it is the same, or names do not
/// tell.
/// @param recorded  as the trace's header names it; empty: not said
std::string other_gpu(const Topology& machine, const std::string& recorded);

}  // namespace linkcast::replay
