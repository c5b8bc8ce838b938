#pragma once
#include "sim/engine/problem.hpp"

namespace linkcast {

/// The "native" solver: SimGrid's own network model, the reference for correctness. SimGrid's engine
/// is one a process and cannot be reset, so each run is a fresh process: this program is executed
/// again as a worker that reads the Problem and writes the Solution (see native_solver.cpp).
/// Solution::limited_by stays empty: SimGrid does not tell.
/// @limits  tens of milliseconds a run; weights must be whole numbers
class NativeSolver final : public Solver {
 public:
  /// @throws InputError  a weight is not a whole number
  /// @throws InvariantError  the worker failed, or as in Solver::run
  Solution run(const Problem& problem) override;
};

}  // namespace linkcast
