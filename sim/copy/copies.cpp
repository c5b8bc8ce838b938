#include "sim/copy/copies.hpp"

#include "sim/copy/copy_forecast.hpp"

namespace linkcast::copy {

Json p2p_answer(const Cluster& machine, Solver& solver, ObjectReader& r, log::Progress& progress,
                const std::optional<CopyHost>& host) {
  return to_json(forecast_copies(machine, solver, read_p2p(machine, r, progress, host)));
}

Json flows_answer(const Cluster& machine, Solver& solver, ObjectReader& r, log::Progress& progress,
                  const std::optional<CopyHost>& host) {
  return to_json(forecast_copies(machine, solver, read_flows(machine, r, progress, host)));
}

}  // namespace linkcast::copy
