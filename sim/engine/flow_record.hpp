#pragma once
// Activities that came one by one, as the Problem that they were, so that another solver can run them too.
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/engine/solvers.hpp"

namespace linkcast {

/// Activities that a FluidEngine got, and when each activity ended. If another solver ends all of them at the same
/// times, it would have got the same ones: what comes later follows from what has ended.
class FlowRecord {
 public:
  /// From now on this number of a constraint is one of this capacity.
  void add_constraint(int number, double capacity_Bps);
  void add_queue() { ++problem_.queue_count; }
  /// @param what  `after` are handles of what has not ended
  void start(int handle, const Activity& what, double now_s);
  void end(int handle, double now_s);

  /// @param now_s  what has not ended yet only has to go on until then
  /// @throws InvariantError  an end differs by more than 1e-9 of the time
  void check(Solver& solver, double now_s) const;

 private:
  int begin_at(double now_s);

  Problem problem_;
  std::vector<double> ended_s_;     // by activity; negative: it has not ended
  std::vector<int> constraint_of_;  // the problem's, by number
  std::vector<int> activity_of_;    // the problem's, by handle
  double begin_s_ = 0;
  int begin_ = -1;  // activity that ends at begin_s_; -1: none, that is 0
};

}  // namespace linkcast
