#pragma once
#include "sim/engine/problem.hpp"

namespace linkcast {

/// Runs a Problem on SimGrid's own network model: constraints are links, flows are host-to-host
/// communications started by SimGrid's callbacks and timers, without actors. Starts the engine of
/// this process, so it works once a process.
/// @param problem  has passed check_problem; all weights are whole numbers
/// @throws InvariantError  some activities never finished: their dependencies form a cycle
Solution run_on_simgrid(const Problem& problem);

}  // namespace linkcast
