#include "sim/engine/fluid_solver.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "sim/engine/check.hpp"
#include "sim/records/input_error.hpp"
#include "sim/units/index.hpp"

namespace linkcast {
namespace {}  // namespace

void FluidSolver::load(const Problem& problem) {
  check_problem(problem);
  problem_ = &problem;
  now_s_ = 0;
  scheduler_.load(problem);
  max_min_.load(problem);
  events_.reset(problem.activities.size());
  flows_.assign(problem.activities.size(), {});
  tallies_.clear();
  ended_.clear();
  solution_.start_s.assign(problem.activities.size(), 0);
  solution_.finish_s.assign(problem.activities.size(), 0);
  solution_.carried_B.assign(problem.capacity_Bps.size(), 0);
  solution_.limited_by.assign(problem.activities.size(), kOwnCap);
  solution_.makespan_s = 0;
  scheduler_.begin(started_);
  for (const int activity : started_) start(activity);
  settle_moment();
}

double FluidSolver::next_event_s() {
  share();
  return events_.empty() ? kInfinity : events_.top().time_s;
}

void FluidSolver::advance() {
  share();
  now_s_ = events_.top().time_s;
  const double moment_end_s = now_s_ + now_s_ * kSameMoment;
  while (!events_.empty() && events_.top().time_s <= moment_end_s) {
    const int activity = events_.top().activity;
    events_.pop();
    if (flows_[at(activity)].phase == Phase::delayed) {
      start_flow(activity);
    } else {
      end(activity);
    }
  }
  settle_moment();
}

// What ended together is released together; what takes no time ends in the next round of the moment.
void FluidSolver::settle_moment() {
  while (!ended_.empty()) {
    batch_.swap(ended_);
    ended_.clear();
    scheduler_.finish(batch_, started_);
    for (const int activity : started_) start(activity);
  }
}

void FluidSolver::start(int activity) {
  solution_.start_s[at(activity)] = now_s_;
  const double delay_s = problem_->activities[at(activity)].delay_s;
  if (delay_s > 0) {
    flows_[at(activity)].phase = Phase::delayed;
    events_.set(activity, now_s_ + delay_s);
  } else {
    start_flow(activity);
  }
}

void FluidSolver::start_flow(int activity) {
  const Activity& what = problem_->activities[at(activity)];
  Flow& flow = flows_[at(activity)];
  if (what.work_B == 0 || (what.uses.empty() && what.rate_cap_Bps == kInfinity)) {
    end(activity);
    return;
  }
  flow.phase = Phase::flowing;
  flow.left_B = what.work_B;
  flow.updated_s = now_s_;
  max_min_.add(activity);
}

void FluidSolver::end(int activity) {
  Flow& flow = flows_[at(activity)];
  if (flow.phase == Phase::flowing) {
    move_bytes(flow);
    for (const Use& use : problem_->activities[at(activity)].uses) {
      solution_.carried_B[at(use.constraint)] += use.weight * flow.moved_B;
    }
    solution_.limited_by[at(activity)] = main_limiter(flow);
    max_min_.remove(activity);
  }
  flow.phase = Phase::finished;
  solution_.finish_s[at(activity)] = now_s_;
  ended_.push_back(activity);
}

/// Brings the bytes of a flow up to the present at its old rate.
void FluidSolver::move_bytes(Flow& flow) {
  const double moved_B = flow.rate_Bps * (now_s_ - flow.updated_s);
  flow.updated_s = now_s_;
  if (moved_B <= 0) return;
  flow.moved_B += moved_B;
  flow.left_B = std::max(0.0, flow.left_B - moved_B);
  int tally = flow.tally;
  while (tally >= 0 && tallies_[at(tally)].limiter != flow.limiter) tally = tallies_[at(tally)].older;
  if (tally < 0) {
    tally = static_cast<int>(tallies_.size());
    tallies_.push_back({0, flow.limiter, flow.tally});
    flow.tally = tally;
  }
  tallies_[at(tally)].moved_B += moved_B;
}

void FluidSolver::share() {
  for (const int activity : max_min_.solve()) {
    Flow& flow = flows_[at(activity)];
    const double rate_Bps = max_min_.rate_Bps(activity);
    const int limiter = max_min_.limiter(activity);
    if (rate_Bps == flow.rate_Bps && limiter == flow.limiter) continue;
    move_bytes(flow);
    flow.limiter = limiter;
    if (rate_Bps == flow.rate_Bps) continue;
    flow.rate_Bps = rate_Bps;
    events_.set(activity, now_s_ + flow.left_B / rate_Bps);
  }
}

int FluidSolver::main_limiter(const Flow& flow) const {
  Tally most{};
  for (int i = flow.tally; i >= 0; i = tallies_[at(i)].older) {
    const Tally& tally = tallies_[at(i)];
    const bool tie = tally.moved_B == most.moved_B && tally.limiter < most.limiter;
    if (tally.moved_B > most.moved_B || tie) most = tally;
  }
  return most.limiter;
}

Solution FluidSolver::take_solution() {
  if (scheduler_.unfinished() > 0) {
    throw InvariantError(std::to_string(scheduler_.unfinished()) +
                         " activities never finish: their dependencies form a cycle");
  }
  solution_.makespan_s = now_s_;
  return std::move(solution_);
}

}  // namespace linkcast
