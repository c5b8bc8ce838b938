#include "sim/engine/fluid_model.hpp"

#include <utility>

#include "sim/base/index.hpp"
#include "sim/engine/check.hpp"
#include "sim/engine/run_events.hpp"

namespace linkcast {

void FluidSolver::load(const Problem& problem) {
  engine_.load(problem);
  solution_.start_s.assign(problem.activities.size(), 0);
  solution_.finish_s.assign(problem.activities.size(), 0);
  solution_.limited_by.assign(problem.activities.size(), kOwnCap);
  note_ended();
}

void FluidSolver::advance() {
  engine_.advance(engine_.next_event_s());
  note_ended();
}

void FluidSolver::note_ended() {
  for (const int activity : engine_.ended()) {
    solution_.start_s[at(activity)] = engine_.start_s(activity);
    solution_.finish_s[at(activity)] = engine_.now_s();
    solution_.limited_by[at(activity)] = engine_.limited_by(activity);
  }
}

Solution FluidSolver::take_solution() {
  engine_.check_all_ended();
  solution_.carried_B = engine_.carried_B();
  solution_.makespan_s = engine_.now_s();
  return std::move(solution_);
}

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
