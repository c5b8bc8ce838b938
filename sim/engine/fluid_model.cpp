#include "sim/engine/fluid_model.hpp"

#include "sim/engine/check.hpp"
#include "sim/engine/run_events.hpp"

namespace linkcast {

FluidModel::~FluidModel() {
  if (runs_ > 0) log_.debug("solver fluid: {} activities in {} runs", activities_, runs_);
}

Solution FluidModel::run_exactly(const Problem& problem) {
  solver_.load(problem);
  run_events(solver_);
  Solution solution = solver_.take_solution();
  check_order(problem, solution);  // the engine has checked the rest
  return solution;
}

Solution FluidModel::run(const Problem& problem) {
  Solution solution = ManyFlows::takes(problem) ? many_.run(problem) : run_exactly(problem);
  ++runs_;
  activities_ += problem.activities.size();
  log_.trace("fluid: {} activities, {} s", problem.activities.size(), solution.makespan_s);
  return solution;
}

}  // namespace linkcast
