#include "sim/engine/fluid_engine.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"
#include "sim/engine/check.hpp"
#include "sim/engine/event_source.hpp"

namespace linkcast {

FluidEngine::FluidEngine(std::vector<double> capacity_Bps) {
  own_.capacity_Bps = std::move(capacity_Bps);
  load(own_);
}

void FluidEngine::load(const Problem& problem) {
  check_problem(problem);
  problem_ = &problem;
  now_s_ = 0;
  scheduler_.load(problem);
  max_min_.load(problem);
  events_.reset(problem.activities.size());
  flows_.assign(problem.activities.size(), {});
  tallies_.clear();
  free_tally_ = kNone;
  loads_.assign(problem.capacity_Bps.size(), {});
  ended_.clear();
  settled_ = 0;
  scheduler_.begin(started_);
  for (const int activity : started_) begin(activity);
  settle_moment();
}

int FluidEngine::add_constraint(double capacity_Bps) {
  if (free_constraints_.empty()) {
    own_.capacity_Bps.push_back(capacity_Bps);
    loads_.push_back({0, 0, now_s_, 0});
    return constraints() - 1;
  }
  const int constraint = free_constraints_.back();
  free_constraints_.pop_back();
  own_.capacity_Bps[at(constraint)] = capacity_Bps;
  loads_[at(constraint)] = {0, 0, now_s_, 0};
  return constraint;
}

void FluidEngine::remove_constraint(int constraint) {
  check_constraint(own_, constraint,
                   {loads_[at(constraint)].carried_B, loads_[at(constraint)].asked_B, loads_[at(constraint)].activities,
                    loads_[at(constraint)].since_s, now_s_});
  loads_[at(constraint)] = {};
  free_constraints_.push_back(constraint);
}

/// Activities added between two moments begin in the next, which may be the same time: none ends meanwhile.
int FluidEngine::start(const Activity& what) {
  int handle = static_cast<int>(flows_.size());
  if (free_.empty()) {
    flows_.emplace_back();
    own_.activities.emplace_back();
    events_.grow(flows_.size());
  } else {
    handle = free_.back();
    free_.pop_back();
  }
  for (const int before : what.after)
    if (before < 0 || at(before) >= flows_.size() || flows_[at(before)].phase == Phase::finished)
      throw InvariantError("an activity waits for " + std::to_string(before) + ", which has ended or never came");
  own_.activities[at(handle)] = what;
  flows_[at(handle)] = {};
  max_min_.renew(handle);
  if (!scheduler_.add(handle)) return handle;
  flows_[at(handle)].phase = Phase::delayed;
  flows_[at(handle)].start_s = now_s_;
  events_.set(handle, now_s_ + what.delay_s);
  return handle;
}

double FluidEngine::next_event_s() {
  share();
  return events_.empty() ? kInfinity : events_.top().time_s;
}

void FluidEngine::advance(double to_s) {
  work::look();
  ended_.clear();
  settled_ = 0;
  share();
  now_s_ = to_s;
  const double moment_end_s = now_s_ + now_s_ * kSameMoment;
  while (!events_.empty() && events_.top().time_s <= moment_end_s) {
    work::look();
    const int activity = events_.top().activity;
    events_.pop();
    if (flows_[at(activity)].phase == Phase::delayed) {
      start_flow(activity);
    } else {
      end(activity);
    }
  }
  settle_moment();
  if (problem_ == &own_) free_.insert(free_.end(), ended_.begin(), ended_.end());
}

// What ended together is released together; what takes no time ends in the next round of the moment.
void FluidEngine::settle_moment() {
  while (settled_ < ended_.size()) {
    const std::size_t first = std::exchange(settled_, ended_.size());
    scheduler_.finish({ended_.data() + first, ended_.size() - first}, started_);
    for (const int activity : started_) begin(activity);
  }
}

void FluidEngine::begin(int activity) {
  flows_[at(activity)].start_s = now_s_;
  const double delay_s = problem_->activities[at(activity)].delay_s;
  if (delay_s > 0) {
    flows_[at(activity)].phase = Phase::delayed;
    events_.set(activity, now_s_ + delay_s);
  } else {
    start_flow(activity);
  }
}

void FluidEngine::start_flow(int activity) {
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

void FluidEngine::end(int activity) {
  Flow& flow = flows_[at(activity)];
  if (flow.phase == Phase::flowing) end_flow(activity);
  flow.phase = Phase::finished;
  check_end(*problem_, activity, {flow.start_s, now_s_, flow.moved_B, flow.rate_Bps});
  ended_.push_back(activity);
}

void FluidEngine::end_flow(int activity) {
  const Activity& what = problem_->activities[at(activity)];
  Flow& flow = flows_[at(activity)];
  move_bytes(flow);
  for (const Use& use : what.uses) {
    Load& load = loads_[at(use.constraint)];
    load.carried_B += use.weight * flow.moved_B;
    load.asked_B += use.weight * what.work_B;
    ++load.activities;
  }
  flow.limiter = count_tallies(flow);
  max_min_.remove(activity);
}

/// Brings the bytes of a flow up to the present at its old rate.
void FluidEngine::move_bytes(Flow& flow) {
  const double moved_B = flow.rate_Bps * (now_s_ - flow.updated_s);
  flow.updated_s = now_s_;
  if (moved_B <= 0) return;
  flow.moved_B += moved_B;
  flow.left_B = std::max(0.0, flow.left_B - moved_B);
  tally_of(flow).moved_B += moved_B;
}

/// That of what limits the flow now.
FluidEngine::Tally& FluidEngine::tally_of(Flow& flow) {
  if (flow.tally.limiter == flow.limiter) return flow.tally;
  int older = flow.tally.older;
  while (older >= 0 && tallies_[at(older)].limiter != flow.limiter) older = tallies_[at(older)].older;
  if (older >= 0) return tallies_[at(older)];
  const int kept = flow.tally.moved_B > 0 ? take_tally(flow.tally) : flow.tally.older;
  flow.tally = {0, flow.limiter, kept};
  return flow.tally;
}

int FluidEngine::take_tally(const Tally& tally) {
  if (free_tally_ < 0) {
    tallies_.push_back(tally);
    return static_cast<int>(tallies_.size()) - 1;
  }
  const int taken = std::exchange(free_tally_, tallies_[at(free_tally_)].older);
  tallies_[at(taken)] = tally;
  return taken;
}

void FluidEngine::share() {
  if (max_min_.solved()) return;
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

/// Constraint that limited the flow for most of its bytes. Its tallies are given back.
int FluidEngine::count_tallies(Flow& flow) {
  Tally most = flow.tally;
  int oldest = kNone;
  for (int i = flow.tally.older; i >= 0; i = tallies_[at(i)].older) {
    oldest = i;
    const Tally& tally = tallies_[at(i)];
    const bool tie = tally.moved_B == most.moved_B && tally.limiter < most.limiter;
    if (tally.moved_B > most.moved_B || tie) most = tally;
  }
  if (oldest >= 0) tallies_[at(oldest)].older = std::exchange(free_tally_, std::exchange(flow.tally.older, kNone));
  return most.limiter;
}

std::vector<double> FluidEngine::carried_B() const {
  std::vector<double> carried_B;
  carried_B.reserve(loads_.size());
  for (const Load& load : loads_) carried_B.push_back(load.carried_B);
  for (std::size_t handle = 0; unfinished() > 0 && handle < flows_.size(); ++handle) {
    const Flow& flow = flows_[handle];
    if (flow.phase != Phase::flowing) continue;
    const double moved_B = flow.moved_B + flow.rate_Bps * (now_s_ - flow.updated_s);
    for (const Use& use : problem_->activities[handle].uses) carried_B[at(use.constraint)] += use.weight * moved_B;
  }
  return carried_B;
}

void FluidEngine::check_carried() const {
  const std::vector<double> until_now_B = unfinished() > 0 ? carried_B() : std::vector<double>{};
  for (std::size_t c = 0; c < loads_.size(); ++c) {
    const Load& load = loads_[c];
    const double under_way_B = until_now_B.empty() ? 0 : until_now_B[c] - load.carried_B;
    if (load.activities == 0 && load.carried_B == 0 && under_way_B == 0) continue;
    check_constraint(*problem_, static_cast<int>(c),
                     {load.carried_B + under_way_B, load.asked_B + under_way_B, load.activities, load.since_s, now_s_});
  }
}

void FluidEngine::check_all_ended() const {
  if (unfinished() > 0)
    throw InvariantError(std::to_string(unfinished()) + " activities never finish: their dependencies form a cycle");
  check_carried();
}

}  // namespace linkcast
