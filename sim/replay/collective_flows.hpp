#pragma once
#include <set>
#include <string>

#include "sim/activities/plan.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/replay/network.hpp"

namespace linkcast::replay {

/// A collective, or one message by a library's kernels, inside one node as flows (collective::forecast_to_share): with
/// nothing else going on it takes the forecast's time.
/// @param op  its GPUs are numbers of the node. @param warnings  receives those of the forecast
/// @returns  on Platform::constraints(), each activity with its start-up as delay
activities::Plan collective_flows(catalogue::Catalogue& catalogue, const std::string& platform_id,
                                  const std::string& library, const NetworkOp& op, std::set<std::string>& warnings);

}  // namespace linkcast::replay
