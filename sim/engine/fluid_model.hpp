#pragma once
#include "sim/engine/fluid_solver.hpp"
#include "sim/engine/many_flows.hpp"
#include "sim/engine/problem.hpp"
#include "sim/log/log.hpp"

namespace linkcast {

/// The "fluid" solver: FluidSolver, moved by run_events(), or ManyFlows where there are many. Results use the solver's
/// own clock and are the same bits whatever ran before, and whoever moves the time.
class FluidModel final : public Solver {
 public:
  /// Says how much it solved.
  ~FluidModel() override;
  Solution run(const Problem& problem) override;

 private:
  Solution run_exactly(const Problem& problem);

  FluidSolver solver_;
  ManyFlows many_;
  log::Log log_{"engine"};
  std::size_t runs_ = 0, activities_ = 0;
};

}  // namespace linkcast
