#include "sim/place/collective_traffic.hpp"

#include "sim/forecast/collective_forecast.hpp"

namespace linkcast::placement {

Traffic node_traffic(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, const std::string& library,
                     const std::string& op, double size_B, const std::vector<int>& gpus) {
  const collective::PlacedJob placed = collective::place_job(machine, {library, op, size_B}, {{0}, gpus});
  return traffic_of(collective::forecast_to_share(placed.job, catalogue.solver("fluid")));
}

Traffic nodes_traffic(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, const std::string& library,
                      const std::string& op, double size_B, const collective::PlacedNodes& where) {
  return traffic_of(collective::placed_collective(catalogue, machine, {library, op, size_B}, where));
}

}  // namespace linkcast::placement
