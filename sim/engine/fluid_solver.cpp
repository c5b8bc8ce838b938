#include "sim/engine/fluid_solver.hpp"

#include <utility>

#include "sim/units/index.hpp"

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

}  // namespace linkcast
