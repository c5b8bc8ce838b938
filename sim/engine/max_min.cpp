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

// Rates that differ by less are the same. source: ours, sums of a thousand doubles
constexpr double kRounding = 1e-13;
constexpr int kRounds = 8;  // source: ours, after which a whole component is filled

constexpr std::size_t kFew = 24;  // source: ours, stops of which the lowest is looked for sooner than kept in a heap

}  // namespace

void MaxMin::load(const Problem& problem) {
  problem_ = &problem;
  visit_ = solve_ = 0;
  known_ = 0;
  know_constraints();
  shares_.assign(problem.activities.size(), {});
  std::size_t uses = 0;
  for (std::size_t a = 0; a < problem.activities.size(); ++a) {
    shares_[a].first = static_cast<int>(uses);
    shares_[a].room = static_cast<int>(problem.activities[a].uses.size());
    uses += problem.activities[a].uses.size();
  }
  passes_.resize(uses);
  binding_.resize(uses);
  for (std::size_t a = 0; a < problem.activities.size(); ++a) take_uses(static_cast<int>(a));
  touched_.clear();
  unsolved_.clear();
}

void MaxMin::know_constraints() {
  const std::size_t count = problem_->capacity_Bps.size();
  if (constraints_.size() < count) constraints_.resize(count);
  for (; known_ < count; ++known_) {
    Constraint& one = constraints_[known_];
    one.members.clear();
    one.visit = 0;
    one.touched = one.binds = false;
  }
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
    binding_.resize(passes_.size());
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
  share.narrowest = narrow;
  for (Pass& use : uses)
    if (use.alone_Bps == share.narrow_Bps) {
      narrow = use.constraint;
      share.narrowest = std::min(share.narrowest, narrow);
    } else {
      use.narrow = narrow;
    }
}

void MaxMin::renew(int flow) {
  know_constraints();
  if (shares_.size() <= at(flow)) shares_.resize(at(flow) + 1);
  Share& share = shares_[at(flow)];
  const Share before = std::exchange(share, {});
  share.first = before.first;
  share.room = before.room;
  take_uses(flow);
}

void MaxMin::touch(int constraint) {
  if (std::exchange(constraints_[at(constraint)].touched, true)) return;
  touched_.push_back(constraint);
}

void MaxMin::add(int flow) {
  Share& share = shares_[at(flow)];
  const std::span<Pass> uses = passes(share);
  share.active = true;
  unsolved_.push_back(flow);
  for (std::size_t u = 0; u < uses.size(); ++u) {
    Pass& use = uses[u];
    Constraint& constraint = constraints_[at(use.constraint)];
    use.position = static_cast<int>(constraint.members.size());
    constraint.members.push_back({use.weight, flow, static_cast<int>(u)});
    if (constraint.binds) bind(share, static_cast<int>(u));
    touch(use.constraint);
  }
}

void MaxMin::remove(int flow) {
  shares_[at(flow)].active = false;
  shares_[at(flow)].binding = 0;
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
  ++solve_;
  solved_.clear();
  wanted_.clear();
  find_binding();
  for (const int flow : unsolved_)
    if (shares_[at(flow)].active) want(flow);
  for (const int constraint : touched_)
    if (constraints_[at(constraint)].binds) want_limited(constraint);
  for (const int flow : wanted_)
    if (shares_[at(flow)].wanted) solve_flow(flow);
  unsolved_.clear();
  touched_.clear();
  return solved_;
}

void MaxMin::want(int flow) {
  if (!std::exchange(shares_[at(flow)].wanted, true)) wanted_.push_back(flow);
}

void MaxMin::want_limited(int constraint) {
  for (const Member& member : constraints_[at(constraint)].members)
    if (shares_[at(member.flow)].limiter == constraint) want(member.flow);
}

/// Looks at what was touched anew. Flows that a constraint limited which binds no more have to be filled too.
void MaxMin::find_binding() {
  for (const int constraint : touched_) {
    Constraint& one = constraints_[at(constraint)];
    one.touched = false;
    const bool binds = can_fill(constraint);
    if (std::exchange(one.binds, binds) == binds) continue;
    for (const Member& member : one.members)
      binds ? bind(shares_[at(member.flow)], member.use) : unbind(shares_[at(member.flow)], member.use);
    if (!binds) want_limited(constraint);
  }
}

void MaxMin::bind(Share& share, int use) {
  Pass& pass = passes(share)[at(use)];
  pass.bound = share.binding++;
  binding_[at(share.first + pass.bound)] = {pass.weight, pass.constraint, use};
}

void MaxMin::unbind(Share& share, int use) {
  const int bound = passes(share)[at(use)].bound;
  if (bound == --share.binding) return;
  const Binding last = binding_[at(share.first + share.binding)];
  binding_[at(share.first + bound)] = last;
  passes(share)[at(last.use)].bound = bound;
}

/// Whether the members together might take all of it, if each took the most and those that come through one narrow
/// constraint as much as fits through that: where that is less than each takes, the narrow one can be filled itself.
bool MaxMin::can_fill(int constraint) const {
  const std::vector<Member>& members = constraints_[at(constraint)].members;
  if (members.size() < 2) return false;
  constexpr double kNearly = 0.999;  // source: ours, much more than rounding
  const double nearly_Bps = kNearly * problem_->capacity_Bps[at(constraint)];
  struct Narrow {
    int constraint = kNone;
    double fits_Bps = 0, left_Bps = 0;  // through it; not counted yet
  };
  std::array<Narrow, 4> narrow{};  // source: ours; those behind count each by itself
  std::size_t count = 0;
  double most_Bps = 0;
  for (const Member& member : members) {
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

/// And all flows whose rates change with its own: those of the others stand as long as each has a constraint that is
/// full and on which nobody is faster, which is what makes rates max-min fair.
void MaxMin::solve_flow(int flow) {
  if (shares_[at(flow)].binding == 0) {
    solve_alone(flow);
    return;
  }
  ++visit_;
  filled_.clear();
  component_.clear();
  joined_ = 0;
  join(flow);
  int round = 0;
  bool all = false;
  do {
    join_wanted(round++ >= kRounds);
    start_filling();
    all = std::all_of(component_.begin(), component_.end(), [&](int constraint) {
      return at(constraints_[at(constraint)].rising) == constraints_[at(constraint)].members.size();
    });
    fill();
  } while (!all && join_disturbed());
  for (const int one : filled_) list(one);
}

void MaxMin::list(int flow) {
  if (std::exchange(shares_[at(flow)].solve, solve_) != solve_) solved_.push_back(flow);
}

/// Where no other could hold it up: most flows need no filling.
void MaxMin::solve_alone(int flow) {
  Share& share = shares_[at(flow)];
  const Stop only = stop_alone(flow);
  share.wanted = false;
  share.rate_Bps = only.level_Bps;
  share.limiter = std::max(only.id, kOwnCap);
  list(flow);
}

/// By the flow's cap or its narrowest constraint, unless others use that too: then its rate stays below.
MaxMin::Stop MaxMin::stop_alone(int flow) const {
  const Share& share = shares_[at(flow)];
  if (share.cap_Bps <= share.narrow_Bps) return {share.cap_Bps, ~flow, flow};
  if (constraints_[at(share.narrowest)].binds) return {std::numeric_limits<double>::infinity(), ~flow, flow};
  return {share.narrow_Bps, share.narrowest, flow};
}

void MaxMin::join(int flow) {
  Share& share = shares_[at(flow)];
  share.visit = visit_;
  share.wanted = false;
  filled_.push_back(flow);
  for (const Binding& use : binding(share))
    if (std::exchange(constraints_[at(use.constraint)].visit, visit_) != visit_) component_.push_back(use.constraint);
}

/// Breadth first, with a list instead of recursion: components may have a million constraints.
/// @param all  the whole component, wanted or not
void MaxMin::join_wanted(bool all) {
  for (std::size_t i = all ? 0 : joined_; i < component_.size(); ++i)
    for (const Member& member : constraints_[at(component_[i])].members) {
      const Share& share = shares_[at(member.flow)];
      if (share.visit != visit_ && (all || share.wanted)) join(member.flow);
    }
  joined_ = component_.size();
}

void MaxMin::start_filling() {
  stops_.clear();
  for (const int flow : filled_) {
    shares_[at(flow)].rising = true;
    const Stop first = stop_alone(flow);
    if (first.level_Bps < std::numeric_limits<double>::infinity()) stops_.push_back(first);
  }
  for (const int index : component_) {
    Constraint& one = constraints_[at(index)];
    one.free_Bps = problem_->capacity_Bps[at(index)];
    one.rising = 0;
    one.weight = 0;
    for (const Member& member : one.members) {
      const Share& share = shares_[at(member.flow)];
      if (share.visit == visit_) {
        one.weight += member.weight;
        ++one.rising;
      } else {
        one.free_Bps -= member.weight * share.rate_Bps;
      }
    }
    one.all_weight = one.weight;
    stops_.push_back({one.free_Bps / one.weight, index});
  }
}

/// The flows and constraints that start_filling() looked at.
void MaxMin::fill() {
  rising_ = static_cast<int>(filled_.size());
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

/// Flows that kept their rates and can no more.
bool MaxMin::join_disturbed() {
  disturbed_.clear();
  for (const int constraint : component_) find_disturbed(constraint);
  for (const int flow : disturbed_)
    if (shares_[at(flow)].visit != visit_) join(flow);
  return !disturbed_.empty();
}

/// Who was limited by it, and could be faster or is slower than another now; who is faster than those that it limits.
void MaxMin::find_disturbed(int constraint) {
  const Constraint& one = constraints_[at(constraint)];
  const bool full = one.free_Bps <= kRounding * problem_->capacity_Bps[at(constraint)];
  double fastest_Bps = 0, limited_Bps = std::numeric_limits<double>::infinity();
  bool others = false;
  for (const Member& member : one.members) {
    const Share& share = shares_[at(member.flow)];
    fastest_Bps = std::max(fastest_Bps, share.rate_Bps);
    if (share.visit != visit_)
      others = true;
    else if (share.limiter == constraint)
      limited_Bps = std::min(limited_Bps, share.rate_Bps);
  }
  if (!others) return;
  for (const Member& member : one.members) {
    Share& share = shares_[at(member.flow)];
    if (share.visit == visit_) continue;
    const bool limits = full && share.rate_Bps >= (1 - kRounding) * fastest_Bps;
    if ((share.limiter == constraint && !limits) || share.rate_Bps > (1 + kRounding) * limited_Bps)
      disturbed_.push_back(member.flow);
    else if (limits && constraint < share.limiter) {  // of several the first, as where all are filled
      share.limiter = constraint;
      list(member.flow);
    }
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
  for (const Binding& use : binding(share)) {
    Constraint& constraint = constraints_[at(use.constraint)];
    constraint.free_Bps -= use.weight * rate_Bps;
    constraint.weight -= use.weight;
    --constraint.rising;
  }
}

}  // namespace linkcast
