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

/// The part of check_solution that the engine does not see: no activity started before its predecessors ended.
/// @throws InvariantError
void check_order(const Problem& problem, const Solution& solution);

/// How one activity ended.
struct ActivityEnd {
  double start_s = 0, end_s = 0;
  double moved_B = 0;   ///< 0 if it never flowed
  double rate_Bps = 0;  ///< the last one
};

/// check_solution's rules for one activity, at the moment of its end; and that it moved all its bytes.
/// @throws InvariantError
void check_end(const Problem& problem, int activity, const ActivityEnd& end);

/// Bytes that one constraint carried from a moment on.
struct ConstraintLoad {
  double carried_B = 0;
  double asked_B = 0;  ///< by its activities
  int activities = 0;
  double since_s = 0, now_s = 0;
};

/// check_solution's rules for one constraint. @throws InvariantError
void check_constraint(const Problem& problem, int constraint, const ConstraintLoad& load);

}  // namespace linkcast
