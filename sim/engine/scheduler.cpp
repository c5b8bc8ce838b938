#include "sim/engine/scheduler.hpp"

#include <algorithm>
#include <functional>

#include "sim/base/index.hpp"

namespace linkcast {
namespace {

/// Mostly they are in order already.
template <class Before>
void sort_if_needed(std::vector<int>& values, const Before& before) {
  if (!std::is_sorted(values.begin(), values.end(), before)) std::sort(values.begin(), values.end(), before);
}

}  // namespace

void Scheduler::load(const Problem& problem) {
  problem_ = &problem;
  unfinished_ = static_cast<int>(problem.activities.size());
  missing_.assign(problem.activities.size(), 0);
  behind_.assign(problem.activities.size(), 0);
  first_edge_.assign(problem.activities.size(), kNone);
  edges_.clear();
  free_edge_ = kNone;
  arrivals_ = 0;
  for (Queue& queue : queues_) {
    queue.order.clear();
    queue.head = 0;
  }
  reserve_queues();
  link_all();
}

void Scheduler::reserve_queues() {
  if (queues_.size() < at(problem_->queue_count)) queues_.resize(at(problem_->queue_count));
}

/// Backwards, so that the successors of each lie in order.
void Scheduler::link_all() {
  std::size_t edge = 0;
  for (const Activity& activity : problem_->activities) edge += activity.after.size();
  edges_.resize(edge);
  for (std::size_t a = problem_->activities.size(); a-- > 0;) {
    const std::vector<int>& after = problem_->activities[a].after;
    missing_[a] = static_cast<int>(after.size());
    for (const int before : after) {
      edges_[--edge] = {static_cast<int>(a), first_edge_[at(before)]};
      first_edge_[at(before)] = static_cast<int>(edge);
    }
  }
}

/// One flat array of edges instead of a vector per activity.
void Scheduler::link_after(int activity) {
  const std::vector<int>& after = problem_->activities[at(activity)].after;
  missing_[at(activity)] = static_cast<int>(after.size());
  for (const int before : after) {
    int edge = free_edge_;
    if (edge < 0) {
      edge = static_cast<int>(edges_.size());
      edges_.emplace_back();
    } else {
      free_edge_ = edges_[at(edge)].next;
    }
    edges_[at(edge)] = {activity, first_edge_[at(before)]};
    first_edge_[at(before)] = edge;
  }
}

void Scheduler::free_edges(int activity, int last) {
  edges_[at(last)].next = free_edge_;
  free_edge_ = first_edge_[at(activity)];
  first_edge_[at(activity)] = kNone;
}

bool Scheduler::add(int activity) {
  ++unfinished_;
  reserve_queues();
  if (missing_.size() <= at(activity)) {
    missing_.resize(at(activity) + 1, 0);
    behind_.resize(at(activity) + 1, 0);
    first_edge_.resize(at(activity) + 1, kNone);
    arrival_.resize(at(activity) + 1, 0);
  }
  arrival_[at(activity)] = arrivals_++;
  link_after(activity);
  if (missing_[at(activity)] > 0) return false;
  ready_.clear();
  join_queues(activity, ready_);
  return !ready_.empty();
}

void Scheduler::begin(std::vector<int>& started) {
  started.clear();
  for (std::size_t a = 0; a < missing_.size(); ++a) {
    if (missing_[a] == 0) join_queues(static_cast<int>(a), started);
  }
}

void Scheduler::finish(std::span<const int> finished, std::vector<int>& started) {
  started.clear();
  ready_.clear();
  for (const int done : finished) {
    leave_queues(done, started);
    int last = kNone;
    for (int edge = first_edge_[at(done)]; edge >= 0; edge = edges_[at(edge)].next) {
      const int next = edges_[at(edge)].successor;
      if (--missing_[at(next)] == 0) ready_.push_back(next);
      last = edge;
    }
    if (last >= 0) free_edges(done, last);
  }
  unfinished_ -= static_cast<int>(finished.size());
  if (arrivals_ == 0)
    sort_if_needed(ready_, std::less<>());
  else
    sort_if_needed(ready_, [this](int a, int b) { return arrival_[at(a)] < arrival_[at(b)]; });
  for (const int activity : ready_) join_queues(activity, started);
  sort_if_needed(started, std::less<>());
}

bool Scheduler::busy(int queue) const {
  return at(queue) < queues_.size() && queues_[at(queue)].head < queues_[at(queue)].order.size();
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
    if (2 * queue.head >= queue.order.size()) {  // so that one that is never free stays as short as its waiters
      queue.order.erase(queue.order.begin(), queue.order.begin() + static_cast<std::ptrdiff_t>(queue.head));
      queue.head = 0;
    }
    if (queue.order.empty()) continue;
    const int next = queue.order[queue.head];
    if (--behind_[at(next)] == 0) started.push_back(next);
  }
}

}  // namespace linkcast
