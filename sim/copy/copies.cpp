#include "sim/copy/copies.hpp"

#include "sim/copy/copy_forecast.hpp"

namespace linkcast::copy {

Json p2p_answer(const Cluster& machine, Solver& solver, ObjectReader& r, log::Progress& progress) {
  return to_json(forecast_copies(machine, solver, read_p2p(machine, r, progress)));
}

Json flows_answer(const Cluster& machine, Solver& solver, ObjectReader& r, log::Progress& progress) {
  return to_json(forecast_copies(machine, solver, read_flows(machine, r, progress)));
}

}  // namespace linkcast::copy
