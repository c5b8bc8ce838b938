#pragma once
#include <cstddef>
#include <span>
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

  /// One that the problem got after load(), or another in the place of one that ended: if it waits for nothing it joins
  /// its queues. @returns  whether it holds all of them
  /// Activities that become ready together are served in the order in which they were added.
  bool add(int activity);

  /// `finished` ended together: their queues move on, then their successors become ready together.
  /// @param started  as in begin()
  void finish(std::span<const int> finished, std::vector<int>& started);

  int unfinished() const { return unfinished_; }
  /// Whether an activity holds the queue.
  bool busy(int queue) const;

 private:
  struct Queue {
    std::vector<int> order;  // everyone who joined since it was free, or the later half of them
    std::size_t head = 0;    // who holds it; order.size() when free
  };
  struct Edge {
    int successor = 0;
    int next = kNone;  // edge from the same predecessor
  };
  static constexpr int kNone = -1;

  void reserve_queues();
  void link_all();
  void link_after(int activity);
  void free_edges(int activity, int last);
  void join_queues(int activity, std::vector<int>& started);
  void leave_queues(int activity, std::vector<int>& started);

  const Problem* problem_ = nullptr;
  int unfinished_ = 0;
  std::vector<int> missing_;     // per activity: predecessors not yet finished
  std::vector<int> behind_;      // per activity: queues that it has joined but does not hold
  std::vector<int> first_edge_;  // per activity: to its successors
  std::vector<long> arrival_;    // per activity that was added; else its index is the order
  long arrivals_ = 0;
  std::vector<Edge> edges_;
  int free_edge_ = kNone;
  std::vector<Queue> queues_;
  std::vector<int> ready_;
};

}  // namespace linkcast
