#pragma once
#include <cstddef>
#include <vector>

#include "sim/engine/problem.hpp"

namespace linkcast {

/// Which activities may start: dependency counts and exclusive first-in-first-out queues. Knows no
/// time: the solver says what ended, and the answer is what starts at that same moment.
class Scheduler {
 public:
  /// Forgets the run before. `problem` has passed check_problem and outlives the run.
  void load(const Problem& problem);

  /// Activities that wait for nothing join their queues; those that hold all of them are started.
  /// @param started  receives the started ones, in index order; what it held is lost
  void begin(std::vector<int>& started);

  /// `finished` ended together: their queues move on, then their successors become ready together.
  /// @param started  as in begin()
  void finish(const std::vector<int>& finished, std::vector<int>& started);

  int unfinished() const { return unfinished_; }

 private:
  struct Queue {
    std::vector<int> order;  // everyone who ever joined
    std::size_t head = 0;    // who holds it; order.size() when free
  };

  void link_successors();
  void join_queues(int activity, std::vector<int>& started);
  void leave_queues(int activity, std::vector<int>& started);

  const Problem* problem_ = nullptr;
  int unfinished_ = 0;
  std::vector<int> missing_;          // per activity: predecessors not yet finished
  std::vector<int> behind_;           // per activity: queues that it has joined but does not hold
  std::vector<int> first_successor_;  // per activity: where its successors begin; one extra at the end
  std::vector<int> successors_;
  std::vector<Queue> queues_;
  std::vector<int> ready_;
};

}  // namespace linkcast
