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

/// Whether a library copies messages through host memory, which the call of a schedule does and a message alone does
/// not.
bool stages_messages(const std::string& library);
/// The collective that is one message and nothing else: what a library does around its messages is then done.
NetworkOp message_as_call(const NetworkOp& message);

}  // namespace linkcast::replay
