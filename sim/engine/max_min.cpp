#include "sim/engine/max_min.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "sim/base/index.hpp"

namespace linkcast {
namespace {

// Below this share of its first value, a sum of weights that was only subtracted from is added anew.
// source: a double has 53 bits; 2^-10 leaves 43 of them, 1e-13, to fractional weights
constexpr double kTrusted = 0x1p-10;

constexpr std::size_t kFew = 24;  // source: ours, stops of which the lowest is looked for sooner than kept in a heap

}  // namespace

void MaxMin::load(const Problem& problem) {
  problem_ = &problem;
  visit_ = 0;
  if (constraints_.size() < problem.capacity_Bps.size()) {
    constraints_.resize(problem.capacity_Bps.size());
  }
  for (std::size_t c = 0; c < problem.capacity_Bps.size(); ++c) {
    constraints_[c].members.clear();
    constraints_[c].visit = 0;
  }
  crowds_.assign(problem.capacity_Bps.size(), {});
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
  unsolved_.clear();
}

void MaxMin::take_uses(int flow) {
  const Activity& activity = problem_->activities[at(flow)];
  Share& share = shares_[at(flow)];
  share.cap_Bps = activity.rate_cap_Bps;
  share.narrow_Bps = std::numeric_limits<double>::infinity();
  share.count = static_cast<int>(activity.uses.size());
  if (share.count > share.room) {
    share.first = static_cast<int>(passes_.size());
    share.room = share.count;
    passes_.resize(passes_.size() + at(share.count));
  }
  Pass* pass = passes_.data() + share.first;
  for (const Use& use : activity.uses) {
    const double alone_Bps = problem_->capacity_Bps[at(use.constraint)] / use.weight;
    share.narrow_Bps = std::min(share.narrow_Bps, alone_Bps);
    *pass++ = {use.weight, alone_Bps, use.constraint};
  }
  share.most_Bps = std::min(share.cap_Bps, share.narrow_Bps);
  // The narrowest, and of several the last one before it: routes lead to a narrow link and away from another.
  const std::span<Pass> uses = passes(share);
  int narrow = kNone;
  for (const Pass& use : uses)
    if (narrow == kNone && use.alone_Bps == share.narrow_Bps) narrow = use.constraint;
  for (Pass& use : uses)
    if (use.alone_Bps == share.narrow_Bps)
      narrow = use.constraint;
    else
      use.narrow = narrow;
}

void MaxMin::renew(int flow) {
  if (crowds_.size() < problem_->capacity_Bps.size()) {
    crowds_.resize(problem_->capacity_Bps.size());
    constraints_.resize(std::max(constraints_.size(), crowds_.size()));
  }
  if (shares_.size() <= at(flow)) shares_.resize(at(flow) + 1);
  Share& share = shares_[at(flow)];
  const Share before = std::exchange(share, {});
  share.first = before.first;
  share.room = before.room;
  take_uses(flow);
}

void MaxMin::touch(int constraint) {
  if (std::exchange(crowds_[at(constraint)].touched, true)) return;
  touched_.push_back(constraint);
}

void MaxMin::add(int flow) {
  Share& share = shares_[at(flow)];
  const std::span<Pass> uses = passes(share);
  share.active = true;
  unsolved_.push_back(flow);
  for (std::size_t u = 0; u < uses.size(); ++u) {
    Pass& use = uses[u];
    use.position = crowds_[at(use.constraint)].flows++;
    constraints_[at(use.constraint)].members.push_back({use.weight, flow, static_cast<int>(u)});
    touch(use.constraint);
  }
}

void MaxMin::remove(int flow) {
  shares_[at(flow)].active = false;
  for (const Pass& use : passes(shares_[at(flow)])) {
    auto& members = constraints_[at(use.constraint)].members;
    const Member last = members.back();
    members.pop_back();
    --crowds_[at(use.constraint)].flows;
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
  find_binding();
  for (const int flow : unsolved_)
    if (shares_[at(flow)].active && shares_[at(flow)].visit != visit_) solve_flow(flow);
  for (const int constraint : touched_)
    if (crowds_[at(constraint)].binds && constraints_[at(constraint)].visit != visit_)
      solve_flow(constraints_[at(constraint)].members.front().flow);
  unsolved_.clear();
  touched_.clear();
  return solved_;
}

/// Looks at what was touched anew. The flows of a constraint that bound them and does no more have to be solved too.
void MaxMin::find_binding() {
  for (const int constraint : touched_) {
    Crowd& crowd = crowds_[at(constraint)];
    crowd.touched = false;
    if (!std::exchange(crowd.binds, can_fill(constraint)) || crowd.binds) continue;
    for (const Member& member : constraints_[at(constraint)].members) unsolved_.push_back(member.flow);
  }
}

/// Whether the members together might take all of it, if each took the most and those that come through one narrow
/// constraint as much as fits through that: where that is less than each takes, the narrow one can be filled itself.
bool MaxMin::can_fill(int constraint) const {
  if (crowds_[at(constraint)].flows < 2) return false;
  constexpr double kNearly = 0.999;  // source: ours, much more than rounding
  const double nearly_Bps = kNearly * problem_->capacity_Bps[at(constraint)];
  struct Narrow {
    int constraint = kNone;
    double fits_Bps = 0, left_Bps = 0;  // through it; not counted yet
  };
  std::array<Narrow, 4> narrow{};  // source: ours; those behind count each by itself
  std::size_t count = 0;
  double most_Bps = 0;
  for (const Member& member : constraints_[at(constraint)].members) {
    const Share& share = shares_[at(member.flow)];
    const Pass& pass = passes_[at(share.first + member.use)];
    double takes_Bps = member.weight * share.most_Bps;
    if (pass.narrow != kNone) {
      const double fits_Bps = member.weight * share.narrow_Bps;
      auto* const end = narrow.begin() + count;
      auto* const known = std::find_if(narrow.begin(), end, [&](const Narrow& one) {
        return one.constraint == pass.narrow && one.fits_Bps == fits_Bps;
      });
      if (known == end && count < narrow.size()) narrow[count++] = {pass.narrow, fits_Bps, fits_Bps};
      if (known != narrow.end()) {
        takes_Bps = std::min(takes_Bps, known->left_Bps);
        known->left_Bps -= takes_Bps;
      }
    }
    most_Bps += takes_Bps;
    if (most_Bps >= nearly_Bps) return true;
  }
  return false;
}

/// And all flows that it is connected with.
void MaxMin::solve_flow(int flow) {
  if (solve_alone(flow)) return;
  component_begin_ = solved_.size();
  stops_.clear();
  component_.clear();
  visit_flow(flow);
  collect_component();
  fill();
}

/// Where no other could hold it up: most components are one flow, and need no filling.
bool MaxMin::solve_alone(int flow) {
  Share& share = shares_[at(flow)];
  for (const Pass& use : passes(share))
    if (crowd(use).binds) return false;
  const Stop only = stop_alone(flow);
  share.visit = visit_;
  share.rate_Bps = only.level_Bps;
  share.limiter = std::max(only.id, kOwnCap);
  share.rising = false;
  solved_.push_back(flow);
  return true;
}

/// The first of a flow's cap and of the constraints that nobody else uses.
MaxMin::Stop MaxMin::stop_alone(int flow) {
  const Share& share = shares_[at(flow)];
  Stop first{share.cap_Bps, ~flow, flow};
  for (const Pass& use : passes(share))
    if (crowd(use).flows == 1 && Later()(first, {use.alone_Bps, use.constraint}))
      first = {use.alone_Bps, use.constraint, flow};
  return first;
}

// Breadth first, with a list instead of recursion: components may have a million constraints.
void MaxMin::collect_component() {
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

void MaxMin::visit_flow(int flow) {
  Share& share = shares_[at(flow)];
  share.visit = visit_;
  share.rising = true;
  solved_.push_back(flow);
  for (const Pass& use : passes(share))
    if (crowd(use).binds && std::exchange(constraints_[at(use.constraint)].visit, visit_) != visit_)
      component_.push_back(use.constraint);
  const Stop first = stop_alone(flow);
  if (first.level_Bps < std::numeric_limits<double>::infinity()) stops_.push_back(first);
}

/// The component that was just collected.
void MaxMin::fill() {
  rising_ = static_cast<int>(solved_.size() - component_begin_);
  for (const int index : component_) {
    const Constraint& constraint = constraints_[at(index)];
    stops_.push_back({constraint.free_Bps / constraint.weight, index});
  }
  heap_ = stops_.size() > kFew;
  if (heap_) std::make_heap(stops_.begin(), stops_.end(), Later());
  while (rising_ > 0) {
    const Stop next = take_stop();
    if (next.flow != Stop::kAll) {
      if (shares_[at(next.flow)].rising) stop(next.flow, next.level_Bps, std::max(next.id, kOwnCap));
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
    if (heap_) std::push_heap(stops_.begin(), stops_.end(), Later());
  }
}

MaxMin::Stop MaxMin::take_stop() {
  if (heap_)
    std::pop_heap(stops_.begin(), stops_.end(), Later());
  else
    std::swap(*std::max_element(stops_.begin(), stops_.end(), Later()), stops_.back());
  const Stop next = stops_.back();
  stops_.pop_back();
  return next;
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
    if (!crowd(use).binds) continue;
    Constraint& constraint = constraints_[at(use.constraint)];
    constraint.free_Bps -= use.weight * rate_Bps;
    constraint.weight -= use.weight;
    --constraint.rising;
  }
}

}  // namespace linkcast
