#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "sim/activities/plan.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/replay/network.hpp"
#include "sim/uncertainty/interval.hpp"

namespace linkcast::replay {

/// What an operation becomes, and how sure its time alone is.
struct FlowsAlone {
  std::vector<Activity> flows;
  uncertainty::Spread spread{};
  std::vector<activities::OwnLimit> own_limits{};  ///< see activities::Plan
};
/// Own limits become constraints of whoever plays the flows. @param add  of so many bytes/s; returns its number
void place_own_limits(const std::vector<activities::OwnLimit>& limits, const std::function<int(double)>& add,
                      std::vector<Activity>& flows);

/// A collective, or one message by a library's kernels, inside one node as flows (collective::forecast_to_share): with
/// nothing else going on it takes the forecast's time.
/// @param op  its GPUs are numbers of the node. @param warnings  receives those of the forecast
/// @returns  activities on Platform::constraints(), each with its start-up as delay
FlowsAlone collective_flows(catalogue::Catalogue& catalogue, const std::string& platform_id, const std::string& library,
                            const NetworkOp& op, std::set<std::string>& warnings);

/// Stages of a copy of a GPU with its host or itself, one after the other.
FlowsAlone copy_stages(catalogue::Catalogue& catalogue, const std::string& platform_id, const NetworkOp& op);

}  // namespace linkcast::replay
