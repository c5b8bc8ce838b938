#pragma once
// Algorithms by NVSwitches that reduce and multicast (NVLS): heads, rates of their blocks, what was never measured.
#include <string>
#include <vector>

#include "sim/forecast/collective_plan.hpp"

namespace linkcast {

/// GPUs of each node that have a part: those that multicast, between nodes one next to each NIC.
std::vector<int> multicast_heads(const Communicator& communicator);
/// One route a head.
std::vector<std::vector<int>> multicast_orders(const Communicator& communicator);

/// Rates of links and thread blocks; base and hops as the library's table of the algorithm says, or its rows.
collective::CollectiveCost multicast_cost(const collective::CostRequest& request, const std::string& algorithm,
                                          const collective::LatencyRows& rows);
/// Rows of what all of them have, as those of nvls.
std::vector<const ParameterRow*> multicast_parameters();

/// Where the links' share was not measured.
std::vector<std::string> multicast_warnings(const collective::CollectiveJob& job,
                                            const collective::CollectivePlan& plan);

}  // namespace linkcast
