#pragma once
#include <set>
#include <string>
#include <vector>

#include "sim/forecast/catalogue.hpp"
#include "sim/replay/network.hpp"

namespace linkcast {

/// A collective, or one message by a library's kernels, inside one node as flows. Each is held to what it gets alone,
/// waits of its thread blocks included, so that with nothing else going on it takes the forecast's time.
/// @param op  its GPUs are numbers of the node. @param warnings  receives those of the forecast
/// @returns  activities on Platform::constraints(), each with its start-up as delay
std::vector<Activity> collective_flows(Catalogue& catalogue, const std::string& platform_id, const std::string& library,
                                       const NetworkOp& op, std::set<std::string>& warnings);

/// Stages of a copy of a GPU with its host or itself, one after the other.
std::vector<Activity> copy_stages(const Platform& platform, const NetworkOp& op);

}  // namespace linkcast
