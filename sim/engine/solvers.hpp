#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/log.hpp"
#include "sim/engine/event_source.hpp"
#include "sim/engine/fluid_engine.hpp"
#include "sim/engine/problem.hpp"
#include "sim/engine/run_events.hpp"

namespace linkcast {

class ManyFlows;

/// Runs a Problem on the engine: all of it comes at time 0, and it runs to the end. The clock is its own, so that a
/// result never depends on what ran before. Whoever drives it owns the loop:
///   solver.load(problem);
///   while (solver.next_event_s() < infinity) solver.advance();
///   Solution solution = solver.take_solution();
class FluidSolver final : public EventSource {
 public:
  /// Resets the clock and starts what waits for nothing. `problem` outlives the run.
  /// @throws InvariantError  see check_problem
  void load(const Problem& problem);

  [[nodiscard]] double now_s() const override { return engine_.now_s(); }
  double next_event_s() override { return engine_.next_event_s(); }
  void advance() override;

  /// @throws InvariantError  some activities never finished: their dependencies form a cycle; or see check_carried
  Solution take_solution();

 private:
  void note_ended();

  FluidEngine engine_;
  Solution solution_;
};

/// The "fluid" solver: FluidSolver, moved by run_events(), or ManyFlows where there are many. Results use the solver's
/// own clock and are the same bits whatever ran before, and whoever moves the time.
class FluidModel final : public Solver {
 public:
  /// @param on_simgrid  SimGrid's main loop moves all of a run, and ManyFlows none
  explicit FluidModel(bool on_simgrid = false);
  /// Says how much it solved.
  ~FluidModel() override;
  Solution run(const Problem& problem) override;

 private:
  Solution run_exactly(const Problem& problem);

  bool on_simgrid_;
  FluidSolver solver_;
  std::unique_ptr<ManyFlows> many_;
  log::Log log_{"engine"};
  std::size_t runs_ = 0, activities_ = 0;
};

/// The solvers of this build, by name:
///  "fluid"   our incremental max-min solver, its events drawn by SimGrid's clock: the default, many runs a process;
///  "fluid_simgrid"  the same, moved by SimGrid's main loop from the first event on, and shared out at every end;
///  "native"  SimGrid's own network model: the reference for correctness. One run a process (SimGrid's engine is a
///            singleton), so each run is this program executed again as a worker.
std::vector<std::string> solver_names();

/// @throws InputError  unknown name; lists the known ones
std::unique_ptr<Solver> make_solver(const std::string& name);

/// While it lives, all forecasts of its thread take one solver: those of a part of a question too.
class SolverChoice {
 public:
  /// @param name  of solver_names()
  explicit SolverChoice(std::string name);
  SolverChoice(const SolverChoice&) = delete;
  SolverChoice& operator=(const SolverChoice&) = delete;
  ~SolverChoice();

  /// "fluid" where none lives.
  [[nodiscard]] static const std::string& name();

 private:
  std::string before_;
  std::optional<SimGridLoop> loop_;
};

/// SimGrid's, as it was built with: "3.32.0"
std::string simgrid_version();

}  // namespace linkcast
