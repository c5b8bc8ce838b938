#pragma once
#include <set>
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/replay/network.hpp"
#include "sim/uncertainty/interval.hpp"

namespace linkcast::replay {

/// What an operation becomes, and how sure its time alone is.
struct FlowsAlone {
  std::vector<Activity> flows;
  uncertainty::Spread spread{};
};

/// A collective, or one message by a library's kernels, inside one node as flows. Each is held to what it gets alone,
/// waits of its thread blocks included, so that with nothing else going on it takes the forecast's time.
/// @param op  its GPUs are numbers of the node. @param warnings  receives those of the forecast
/// @returns  activities on Platform::constraints(), each with its start-up as delay
FlowsAlone collective_flows(catalogue::Catalogue& catalogue, const std::string& platform_id, const std::string& library,
                            const NetworkOp& op, std::set<std::string>& warnings);

}  // namespace linkcast::replay
