#include "models/algorithms/ring_cost.hpp"

#include "sim/forecast/host_path.hpp"

namespace linkcast {

collective::CollectiveCost ring_cost(const collective::CostRequest& request) {
  const Communicator& communicator = request.communicator;
  collective::CollectiveCost cost;
  collective::set_latency(request, cost);
  collective::set_rates(request, cost);
  collective::set_step_costs(request, cost);
  if (collective::through_host(communicator))
    collective::take_host_path(request.platform, communicator, request.protocol, key::host_channel[request.protocol], 1,
                               cost);
  collective::wait_for_slowest(request, cost);
  return cost;
}

}  // namespace linkcast
