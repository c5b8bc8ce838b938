#include "sim/engine/scheduler.hpp"

#include <algorithm>

#include "sim/units/index.hpp"

namespace linkcast {
void Scheduler::load(const Problem& problem) {
  problem_ = &problem;
  unfinished_ = static_cast<int>(problem.activities.size());
  missing_.assign(problem.activities.size(), 0);
  behind_.assign(problem.activities.size(), 0);
  if (queues_.size() < at(problem.queue_count)) queues_.resize(at(problem.queue_count));
  for (Queue& queue : queues_) {
    queue.order.clear();
    queue.head = 0;
  }
  link_successors();
}

// Counting sort of the edges by predecessor: one flat array instead of a vector per activity.
void Scheduler::link_successors() {
  const auto& activities = problem_->activities;
  first_successor_.assign(activities.size() + 2, 0);
  for (std::size_t a = 0; a < activities.size(); ++a) {
    missing_[a] = static_cast<int>(activities[a].after.size());
    for (const int before : activities[a].after) ++first_successor_[at(before) + 2];
  }
  for (std::size_t a = 2; a < first_successor_.size(); ++a) {
    first_successor_[a] += first_successor_[a - 1];
  }
  successors_.resize(at(first_successor_.back()));
  for (std::size_t a = 0; a < activities.size(); ++a) {
    for (const int before : activities[a].after) {
      successors_[at(first_successor_[at(before) + 1]++)] = static_cast<int>(a);
    }
  }
}

void Scheduler::begin(std::vector<int>& started) {
  started.clear();
  for (std::size_t a = 0; a < missing_.size(); ++a) {
    if (missing_[a] == 0) join_queues(static_cast<int>(a), started);
  }
}

void Scheduler::finish(const std::vector<int>& finished, std::vector<int>& started) {
  started.clear();
  ready_.clear();
  for (const int done : finished) {
    leave_queues(done, started);
    for (int s = first_successor_[at(done)]; s < first_successor_[at(done) + 1]; ++s) {
      const int next = successors_[at(s)];
      if (--missing_[at(next)] == 0) ready_.push_back(next);
    }
  }
  unfinished_ -= static_cast<int>(finished.size());
  std::sort(ready_.begin(), ready_.end());
  for (const int activity : ready_) join_queues(activity, started);
  std::sort(started.begin(), started.end());
}

void Scheduler::join_queues(int activity, std::vector<int>& started) {
  for (const int index : problem_->activities[at(activity)].queues) {
    Queue& queue = queues_[at(index)];
    if (queue.head < queue.order.size()) ++behind_[at(activity)];
    queue.order.push_back(activity);
  }
  if (behind_[at(activity)] == 0) started.push_back(activity);
}

void Scheduler::leave_queues(int activity, std::vector<int>& started) {
  for (const int index : problem_->activities[at(activity)].queues) {
    Queue& queue = queues_[at(index)];
    ++queue.head;
    if (queue.head == queue.order.size()) continue;
    const int next = queue.order[queue.head];
    if (--behind_[at(next)] == 0) started.push_back(next);
  }
}

}  // namespace linkcast
