#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sim/engine/problem.hpp"

namespace linkcast {

/// The solvers of this build, by name:
///  "fluid"   our incremental max-min solver, its events drawn by SimGrid's clock: the default, many runs a process;
///  "native"  SimGrid's own network model: the reference for correctness. One run a process (SimGrid's engine is a
///            singleton), so each run is this program executed again as a worker.
std::vector<std::string> solver_names();

/// @throws InputError  unknown name; lists the known ones
std::unique_ptr<Solver> make_solver(const std::string& name);

/// SimGrid's, as it was built with: "3.32.0"
std::string simgrid_version();

}  // namespace linkcast
