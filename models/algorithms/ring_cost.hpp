#pragma once
// Costs of a ring's kernels: of rings, and of schedules that users write for such kernels.
#include "sim/forecast/collective_cost.hpp"

namespace linkcast {

/// Parameters `nccl.ring.<protocol>.*`, through host memory where a ring's hops go there; all wait for the slowest GPU.
collective::CollectiveCost ring_cost(const collective::CostRequest& request);

}  // namespace linkcast
