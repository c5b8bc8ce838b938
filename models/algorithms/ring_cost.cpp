#include "models/algorithms/ring_cost.hpp"

#include "sim/forecast/host_path.hpp"

namespace linkcast {

collective::CollectiveCost ring_cost(const collective::CostRequest& request) {
  const Communicator& communicator = request.communicator;
  collective::CollectiveCost cost;
  collective::set_latency(request, cost);
  collective::set_rates(request, cost);
  if (const Parameter* turn = request.platform.calibration().find(
          key::ring_turn[request.protocol].of_all(library_family(communicator.library))))
    cost.turn_steps = turn->value;
  if (collective::through_host(communicator))
    collective::take_host_path(request.platform, communicator, request.protocol, key::host_channel[request.protocol], 1,
                               cost);
  collective::wait_for_slowest(request, cost);
  return cost;
}

}  // namespace linkcast
