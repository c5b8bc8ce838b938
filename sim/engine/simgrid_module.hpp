#pragma once
// What needs SimGrid's library, in a module of its own that is loaded when it is first asked for: SimGrid brings some
// thirty libraries, which take longer to load than most questions to answer.
#include "sim/engine/event_source.hpp"
#include "sim/engine/problem.hpp"

namespace linkcast {

struct SimGridModule {
  /// Whether this thread has SimGrid's engine, or no thread has it yet, and it drives no other run.
  bool (*is_free)();
  /// SimGrid's main loop moves the time until nothing happens any more.
  /// @param next_s, advance  what to ask the source by
  void (*run)(EventSource& source, double (*next_s)(EventSource&), void (*advance)(EventSource&));
  /// Runs a Problem on SimGrid's own network model. Starts the engine of this process, so it works once a process.
  /// @param problem  has passed check_problem
  /// @throws InvariantError  some activities never finished: their dependencies form a cycle
  Solution (*solve)(const Problem& problem);
};

/// @throws InputError  the module is not where this program is, or its libraries are missing
const SimGridModule& simgrid_module();
/// Whether it is there: a wheel has none.
bool has_simgrid_module();
/// @throws InputError  it is not there
void need_simgrid_module();

}  // namespace linkcast
