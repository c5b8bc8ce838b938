#include "sim/engine/max_min.hpp"

#include <algorithm>

#include "sim/units/index.hpp"

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
  first_position_.resize(problem.activities.size());
  room_.resize(problem.activities.size());
  int uses = 0;
  for (std::size_t a = 0; a < problem.activities.size(); ++a) {
    first_position_[a] = uses;
    room_[a] = static_cast<int>(problem.activities[a].uses.size());
    uses += room_[a];
  }
  positions_.resize(at(uses));
  touched_.clear();
  unconstrained_.clear();
}

void MaxMin::renew(int flow) {
  if (constraints_.size() < problem_->capacity_Bps.size()) constraints_.resize(problem_->capacity_Bps.size());
  if (shares_.size() <= at(flow)) {
    shares_.resize(at(flow) + 1);
    first_position_.resize(at(flow) + 1, 0);
    room_.resize(at(flow) + 1, 0);
  }
  shares_[at(flow)] = {};
  const int needed = static_cast<int>(problem_->activities[at(flow)].uses.size());
  if (needed <= room_[at(flow)]) return;
  first_position_[at(flow)] = static_cast<int>(positions_.size());
  room_[at(flow)] = needed;
  positions_.resize(positions_.size() + at(needed));
}

void MaxMin::touch(int constraint) {
  Constraint& c = constraints_[at(constraint)];
  if (c.touched) return;
  c.touched = true;
  touched_.push_back(constraint);
}

void MaxMin::add(int flow) {
  const auto& uses = problem_->activities[at(flow)].uses;
  if (uses.empty()) unconstrained_.push_back(flow);
  for (std::size_t u = 0; u < uses.size(); ++u) {
    auto& members = constraints_[at(uses[u].constraint)].members;
    positions_[at(first_position_[at(flow)]) + u] = static_cast<int>(members.size());
    members.push_back({uses[u].weight, flow, static_cast<int>(u)});
    touch(uses[u].constraint);
  }
}

void MaxMin::remove(int flow) {
  const auto& uses = problem_->activities[at(flow)].uses;
  for (std::size_t u = 0; u < uses.size(); ++u) {
    auto& members = constraints_[at(uses[u].constraint)].members;
    const int position = positions_[at(first_position_[at(flow)]) + u];
    const Member last = members.back();
    members[at(position)] = last;
    positions_[at(first_position_[at(last.flow)] + last.use)] = position;
    members.pop_back();
    touch(uses[u].constraint);
  }
}

const std::vector<int>& MaxMin::solve() {
  ++visit_;
  solved_.clear();
  for (const int flow : unconstrained_) {
    stop(flow, problem_->activities[at(flow)].rate_cap_Bps, kOwnCap);
    solved_.push_back(flow);
  }
  unconstrained_.clear();
  for (const int constraint : touched_) {
    constraints_[at(constraint)].touched = false;
    if (constraints_[at(constraint)].visit == visit_) continue;
    component_begin_ = solved_.size();
    collect_component(constraint);
    const std::size_t flows = solved_.size() - component_begin_;
    if (flows == 1) fill_alone(solved_.back());
    if (flows > 1) fill();
  }
  touched_.clear();
  return solved_;
}

// Breadth first, with a list instead of recursion: components may have a million constraints.
void MaxMin::collect_component(int constraint) {
  component_.assign(1, constraint);
  constraints_[at(constraint)].visit = visit_;
  for (std::size_t i = 0; i < component_.size(); ++i) {
    for (const Member& member : constraints_[at(component_[i])].members) visit_flow(member.flow);
  }
}

void MaxMin::visit_flow(int flow) {
  if (shares_[at(flow)].visit == visit_) return;
  shares_[at(flow)].visit = visit_;
  solved_.push_back(flow);
  for (const Use& use : problem_->activities[at(flow)].uses) {
    Constraint& next = constraints_[at(use.constraint)];
    if (next.visit == visit_) continue;
    next.visit = visit_;
    component_.push_back(use.constraint);
  }
}

void MaxMin::fill_alone(int flow) {
  const Activity& activity = problem_->activities[at(flow)];
  Share& share = shares_[at(flow)];
  share.rate_Bps = activity.rate_cap_Bps;
  share.limiter = kOwnCap;
  for (const Use& use : activity.uses) {
    const Stop full{problem_->capacity_Bps[at(use.constraint)] / use.weight, use.constraint};
    if (!later({share.rate_Bps, share.limiter}, full)) continue;
    share.rate_Bps = full.level_Bps;
    share.limiter = full.id;
  }
}

void MaxMin::fill() {
  prepare_fill();
  while (rising_ > 0) {
    std::pop_heap(stops_.begin(), stops_.end(), later);
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
    std::push_heap(stops_.begin(), stops_.end(), later);
  }
}

void MaxMin::prepare_fill() {
  stops_.clear();
  rising_ = 0;
  for (std::size_t i = component_begin_; i < solved_.size(); ++i) {
    const int flow = solved_[i];
    shares_[at(flow)].rising = true;
    ++rising_;
    const double cap_Bps = problem_->activities[at(flow)].rate_cap_Bps;
    if (cap_Bps < std::numeric_limits<double>::infinity()) stops_.push_back({cap_Bps, ~flow});
  }
  for (const int index : component_) {
    Constraint& constraint = constraints_[at(index)];
    constraint.free_Bps = problem_->capacity_Bps[at(index)];
    constraint.rising = static_cast<int>(constraint.members.size());
    constraint.weight = 0;
    for (const Member& member : constraint.members) constraint.weight += member.weight;
    constraint.all_weight = constraint.weight;
    if (constraint.rising > 0) stops_.push_back({constraint.free_Bps / constraint.weight, index});
  }
  std::make_heap(stops_.begin(), stops_.end(), later);
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
  for (const Use& use : problem_->activities[at(flow)].uses) {
    Constraint& constraint = constraints_[at(use.constraint)];
    constraint.free_Bps -= use.weight * rate_Bps;
    constraint.weight -= use.weight;
    --constraint.rising;
  }
}

}  // namespace linkcast
