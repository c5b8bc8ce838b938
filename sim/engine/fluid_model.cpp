#include "sim/engine/fluid_model.hpp"

#include "sim/engine/check.hpp"
#include "sim/engine/event_source.hpp"

namespace linkcast {

Solution FluidModel::run(const Problem& problem) {
  solver_.load(problem);
  run_events(solver_);
  Solution solution = solver_.take_solution();
  check_order(problem, solution);  // the engine has checked the rest
  return solution;
}

}  // namespace linkcast
