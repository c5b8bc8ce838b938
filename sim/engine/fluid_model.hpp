#pragma once
#include "sim/engine/fluid_solver.hpp"
#include "sim/engine/problem.hpp"

namespace linkcast {

/// The "fluid" solver: FluidSolver as a SimGrid model, so that SimGrid's main loop moves the time.
/// SimGrid's clock only grows, over all runs of the process; results use the solver's own clock and
/// are the same bits whatever ran before.
/// @limits  one thread: SimGrid has one engine a process
class FluidModel final : public Solver {
 public:
  Solution run(const Problem& problem) override;

 private:
  FluidSolver solver_;
};

}  // namespace linkcast
