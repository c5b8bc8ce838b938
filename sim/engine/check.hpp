#pragma once
#include "sim/engine/problem.hpp"

namespace linkcast {

/// Refuses what no solver can run: an index out of range, a negative or NaN quantity, a constraint
/// or queue listed twice by one activity.
/// @throws InvariantError  names the activity and the fault
void check_problem(const Problem& problem);

/// Physics that every solution keeps, whatever solver made it: every activity finished after its
/// predecessors and not before its wire bound (delay + work * weight / capacity, work / cap); every
/// constraint carried the bytes of its activities, and not more than capacity * makespan.
/// Tolerance: relative 1e-9, or 1 ps an event (the physics suite).
/// @throws InvariantError  names the activity or constraint, and both numbers
void check_solution(const Problem& problem, const Solution& solution);

}  // namespace linkcast
