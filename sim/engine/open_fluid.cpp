#include "sim/engine/open_fluid.hpp"

#include <algorithm>
#include <utility>

#include "sim/engine/event_source.hpp"
#include "sim/units/index.hpp"

namespace linkcast {
namespace {}  // namespace

OpenFluid::OpenFluid(std::vector<double> capacity_Bps) {
  problem_.capacity_Bps = std::move(capacity_Bps);
  carried_B_.assign(problem_.capacity_Bps.size(), 0);
  max_min_.load(problem_);
}

int OpenFluid::add_constraint(double capacity_Bps) {
  problem_.capacity_Bps.push_back(capacity_Bps);
  carried_B_.push_back(0);
  return constraints() - 1;
}

int OpenFluid::start(const Activity& what) {
  int handle = static_cast<int>(flows_.size());
  if (free_.empty()) {
    flows_.emplace_back();
    problem_.activities.emplace_back();
    events_.grow(flows_.size());
  } else {
    handle = free_.back();
    free_.pop_back();
  }
  problem_.activities[at(handle)] = what;
  flows_[at(handle)] = {what.work_B, 0, now_s_, starts_++, false};
  max_min_.renew(handle);
  events_.set(handle, now_s_ + what.delay_s);
  return handle;
}

double OpenFluid::next_event_s() {
  share();
  return events_.empty() ? kInfinity : events_.top().time_s;
}

void OpenFluid::advance(double to_s, std::vector<int>& ended) {
  ended.clear();
  share();
  now_s_ = to_s;
  const double moment_end_s = now_s_ + now_s_ * kSameMoment;
  while (!events_.empty() && events_.top().time_s <= moment_end_s) {
    const int handle = events_.top().activity;
    events_.pop();
    if (flows_[at(handle)].flowing) {
      end(handle, ended);
    } else {
      begin_to_flow(handle, ended);
    }
  }
  std::sort(ended.begin(), ended.end(), [this](int a, int b) { return flows_[at(a)].order < flows_[at(b)].order; });
}

void OpenFluid::begin_to_flow(int handle, std::vector<int>& ended) {
  const Activity& what = problem_.activities[at(handle)];
  if (what.work_B == 0 || (what.uses.empty() && what.rate_cap_Bps == kInfinity)) {
    free_.push_back(handle);
    ended.push_back(handle);
    return;
  }
  flows_[at(handle)].flowing = true;
  flows_[at(handle)].updated_s = now_s_;
  max_min_.add(handle);
}

void OpenFluid::end(int handle, std::vector<int>& ended) {
  move_bytes(handle);
  flows_[at(handle)].flowing = false;
  max_min_.remove(handle);
  free_.push_back(handle);
  ended.push_back(handle);
}

/// Brings a flow up to the present at its old rate.
void OpenFluid::move_bytes(int handle) {
  Flow& flow = flows_[at(handle)];
  const double moved_B = flow.rate_Bps * (now_s_ - flow.updated_s);
  flow.updated_s = now_s_;
  if (moved_B <= 0) return;
  flow.left_B = std::max(0.0, flow.left_B - moved_B);
  for (const Use& use : problem_.activities[at(handle)].uses) carried_B_[at(use.constraint)] += use.weight * moved_B;
}

void OpenFluid::share() {
  for (const int handle : max_min_.solve()) {
    Flow& flow = flows_[at(handle)];
    const double rate_Bps = max_min_.rate_Bps(handle);
    if (!flow.flowing || rate_Bps == flow.rate_Bps) continue;
    move_bytes(handle);
    flow.rate_Bps = rate_Bps;
    events_.set(handle, now_s_ + flow.left_B / rate_Bps);
  }
}

std::vector<double> OpenFluid::carried_B() const {
  std::vector<double> carried_B = carried_B_;
  for (std::size_t handle = 0; handle < flows_.size(); ++handle) {
    const Flow& flow = flows_[handle];
    const double moved_B = flow.flowing ? flow.rate_Bps * (now_s_ - flow.updated_s) : 0;
    if (moved_B <= 0) continue;
    for (const Use& use : problem_.activities[handle].uses) carried_B[at(use.constraint)] += use.weight * moved_B;
  }
  return carried_B;
}

}  // namespace linkcast
