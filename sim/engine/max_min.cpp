#include "sim/engine/max_min.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/base/index.hpp"

namespace linkcast {
namespace {

// Below this share of its first value, a sum of weights that was only subtracted from is added anew.
// source: a double has 53 bits; 2^-10 leaves 43 of them, 1e-13, to fractional weights
constexpr double kTrusted = 0x1p-10;

}  // namespace

void MaxMin::load(const Problem& problem) {
  problem_ = &problem;
  visit_ = 0;
  if (constraints_.size() < problem.capacity_Bps.size()) {
    constraints_.resize(problem.capacity_Bps.size());
  }
  for (std::size_t c = 0; c < problem.capacity_Bps.size(); ++c) {
    constraints_[c].members.clear();
    constraints_[c].touched = false;
    constraints_[c].visit = 0;
  }
  shares_.assign(problem.activities.size(), {});
  std::size_t uses = 0;
  for (std::size_t a = 0; a < problem.activities.size(); ++a) {
    shares_[a].first = static_cast<int>(uses);
    shares_[a].room = static_cast<int>(problem.activities[a].uses.size());
    uses += problem.activities[a].uses.size();
  }
  passes_.resize(uses);
  for (std::size_t a = 0; a < problem.activities.size(); ++a) take_uses(static_cast<int>(a));
  touched_.clear();
  unconstrained_.clear();
}

void MaxMin::take_uses(int flow) {
  const Activity& activity = problem_->activities[at(flow)];
  Share& share = shares_[at(flow)];
  share.cap_Bps = activity.rate_cap_Bps;
  share.count = static_cast<int>(activity.uses.size());
  if (share.count > share.room) {
    share.first = static_cast<int>(passes_.size());
    share.room = share.count;
    passes_.resize(passes_.size() + at(share.count));
  }
  Pass* pass = passes_.data() + share.first;
  for (const Use& use : activity.uses) *pass++ = {use.weight, use.constraint, 0};
}

void MaxMin::renew(int flow) {
  if (constraints_.size() < problem_->capacity_Bps.size()) constraints_.resize(problem_->capacity_Bps.size());
  if (shares_.size() <= at(flow)) shares_.resize(at(flow) + 1);
  Share& share = shares_[at(flow)];
  const Share before = std::exchange(share, {});
  share.first = before.first;
  share.room = before.room;
  take_uses(flow);
}

void MaxMin::touch(int constraint) {
  Constraint& c = constraints_[at(constraint)];
  if (c.touched) return;
  c.touched = true;
  touched_.push_back(constraint);
}

void MaxMin::add(int flow) {
  const std::span<Pass> uses = passes(shares_[at(flow)]);
  if (uses.empty()) unconstrained_.push_back(flow);
  for (std::size_t u = 0; u < uses.size(); ++u) {
    auto& members = constraints_[at(uses[u].constraint)].members;
    uses[u].position = static_cast<int>(members.size());
    members.push_back({uses[u].weight, flow, static_cast<int>(u)});
    touch(uses[u].constraint);
  }
}

void MaxMin::remove(int flow) {
  for (const Pass& use : passes(shares_[at(flow)])) {
    auto& members = constraints_[at(use.constraint)].members;
    const Member last = members.back();
    members.pop_back();
    if (at(use.position) < members.size()) {
      members[at(use.position)] = last;
      passes_[at(shares_[at(last.flow)].first + last.use)].position = use.position;
    }
    touch(use.constraint);
  }
}

const std::vector<int>& MaxMin::solve() {
  ++visit_;
  solved_.clear();
  for (const int flow : unconstrained_) {
    stop(flow, shares_[at(flow)].cap_Bps, kOwnCap);
    solved_.push_back(flow);
  }
  unconstrained_.clear();
  for (const int constraint : touched_) {
    constraints_[at(constraint)].touched = false;
    if (constraints_[at(constraint)].visit == visit_ || solve_alone(constraint)) continue;
    component_begin_ = solved_.size();
    collect_component(constraint);
    fill();
  }
  touched_.clear();
  return solved_;
}

/// Where at most one flow passes, and meets no other elsewhere: most components are so, and need no filling.
bool MaxMin::solve_alone(int constraint) {
  const std::vector<Member>& members = constraints_[at(constraint)].members;
  if (members.empty()) return true;
  if (members.size() > 1) return false;
  const int flow = members.front().flow;
  for (const Pass& use : passes(shares_[at(flow)]))
    if (constraints_[at(use.constraint)].members.size() > 1) return false;
  for (const Pass& use : passes(shares_[at(flow)])) constraints_[at(use.constraint)].visit = visit_;
  solved_.push_back(flow);
  fill_alone(flow);
  return true;
}

// Breadth first, with a list instead of recursion: components may have a million constraints.
void MaxMin::collect_component(int constraint) {
  stops_.clear();
  component_.assign(1, constraint);
  constraints_[at(constraint)].visit = visit_;
  for (std::size_t i = 0; i < component_.size(); ++i) {
    Constraint& one = constraints_[at(component_[i])];
    one.free_Bps = problem_->capacity_Bps[at(component_[i])];
    one.rising = static_cast<int>(one.members.size());
    double weight = 0;
    for (const Member& member : one.members) {
      weight += member.weight;
      if (shares_[at(member.flow)].visit != visit_) visit_flow(member.flow);
    }
    one.weight = one.all_weight = weight;
  }
}

/// Only the first stop counts of a flow's cap and of the constraints that nobody else uses.
void MaxMin::visit_flow(int flow) {
  Share& share = shares_[at(flow)];
  share.visit = visit_;
  share.rising = true;
  solved_.push_back(flow);
  Stop first{share.cap_Bps, ~flow};
  for (const Pass& use : passes(share)) {
    Constraint& next = constraints_[at(use.constraint)];
    if (next.visit == visit_) continue;
    next.visit = visit_;
    if (next.members.size() > 1) {
      component_.push_back(use.constraint);
      continue;
    }
    next.free_Bps = problem_->capacity_Bps[at(use.constraint)];
    next.weight = next.all_weight = use.weight;
    next.rising = 1;
    first = std::min(first, {next.free_Bps / next.weight, use.constraint},
                     [](const Stop& a, const Stop& b) { return Later()(b, a); });
  }
  if (first.level_Bps < std::numeric_limits<double>::infinity()) stops_.push_back(first);
}

void MaxMin::fill_alone(int flow) {
  Share& share = shares_[at(flow)];
  share.rate_Bps = share.cap_Bps;
  share.limiter = kOwnCap;
  share.rising = false;
  for (const Pass& use : passes(share)) {
    const Stop full{problem_->capacity_Bps[at(use.constraint)] / use.weight, use.constraint};
    if (!Later()({share.rate_Bps, share.limiter}, full)) continue;
    share.rate_Bps = full.level_Bps;
    share.limiter = full.id;
  }
}

/// The component that was just collected.
void MaxMin::fill() {
  rising_ = static_cast<int>(solved_.size() - component_begin_);
  for (const int index : component_) {
    const Constraint& constraint = constraints_[at(index)];
    if (constraint.rising > 0) stops_.push_back({constraint.free_Bps / constraint.weight, index});
  }
  std::make_heap(stops_.begin(), stops_.end(), Later());
  while (rising_ > 0) {
    std::pop_heap(stops_.begin(), stops_.end(), Later());
    const Stop next = stops_.back();
    stops_.pop_back();
    if (next.id < 0) {
      if (shares_[at(~next.id)].rising) stop(~next.id, next.level_Bps, kOwnCap);
      continue;
    }
    Constraint& constraint = constraints_[at(next.id)];
    if (constraint.rising == 0) continue;
    const double level = level_Bps(constraint);
    if (level <= next.level_Bps) {
      saturate(next.id, next.level_Bps);
      continue;
    }
    stops_.push_back({level, next.id});  // flows that stopped since have left room
    std::push_heap(stops_.begin(), stops_.end(), Later());
  }
}

/// The rate at which the constraint will be full if nothing else stops its rising flows.
double MaxMin::level_Bps(Constraint& constraint) const {
  if (constraint.weight < kTrusted * constraint.all_weight) {
    constraint.weight = 0;
    for (const Member& member : constraint.members) {
      if (shares_[at(member.flow)].rising) constraint.weight += member.weight;
    }
    constraint.all_weight = constraint.weight;
  }
  return constraint.free_Bps / constraint.weight;
}

void MaxMin::saturate(int constraint, double level_Bps) {
  for (const Member& member : constraints_[at(constraint)].members) {
    if (shares_[at(member.flow)].rising) stop(member.flow, level_Bps, constraint);
  }
}

void MaxMin::stop(int flow, double rate_Bps, int limiter) {
  Share& share = shares_[at(flow)];
  share.rate_Bps = rate_Bps;
  share.limiter = limiter;
  share.rising = false;
  --rising_;
  for (const Pass& use : passes(share)) {
    Constraint& constraint = constraints_[at(use.constraint)];
    constraint.free_Bps -= use.weight * rate_Bps;
    constraint.weight -= use.weight;
    --constraint.rising;
  }
}

}  // namespace linkcast
