// ManyFlows: how rates are shared out.
#include "sim/engine/many_flows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"
#include "sim/engine/check.hpp"
#include "sim/engine/components.hpp"
#include "sim/engine/event_source.hpp"

namespace linkcast {
namespace {

/// Whether they begin to move at few different times, or few for how many they are: rates are shared out at each.
bool begin_together(const Problem& problem) {
  const std::size_t flows = problem.activities.size();
  const std::size_t most = flows > ManyFlows::kMany ? flows / ManyFlows::kFlowsAStart : ManyFlows::kExactShares;
  std::set<double> delays_s;
  for (const Activity& flow : problem.activities)
    if (delays_s.insert(flow.delay_s).second && delays_s.size() > most) return false;
  return true;
}

}  // namespace

bool ManyFlows::takes(const Problem& problem) {
  return problem.activities.size() > kFew &&
         std::all_of(problem.activities.begin(), problem.activities.end(),
                     [](const Activity& one) { return one.after.empty() && one.queues.empty(); }) &&
         begin_together(problem) && largest_component(problem) > kFew;
}

Solution ManyFlows::run(const Problem& problem) {
  check_problem(problem);
  load(problem);
  for (;;) {
    double until_s = horizon_s();
    while (!events_.empty() && events_.top().time_s <= until_s + until_s * kSameMoment && flowing_ > 0) {
      end_first();
      until_s = horizon_s();
    }
    if (started_ == starts_.size() && flowing_ == 0) break;
    if (until_s == kInfinity) throw InvariantError(fmt::format("{} flows never end: they have no rate", flowing_));
    now_s_ = std::max(now_s_, until_s);
    begin_flows();
    share();
  }
  Solution solution = take_solution();
  check_solution(problem, solution);
  return solution;
}

void ManyFlows::load(const Problem& problem) {
  problem_ = &problem;
  shared_.load(problem);
  trunks_.load(problem);
  now_s_ = 0;
  stale_s_ = kInfinity;
  shares_ = 0;
  flowing_ = 0;
  const std::size_t flows = problem.activities.size();
  flows_.assign(flows, {});
  rates_.assign(flows, {});
  moving_.assign(flows, false);
  at_bound_.assign(flows, false);
  pieces_.clear();
  links_.resize(problem.capacity_Bps.size() + 1);
  for (Link& link : links_) {
    link.ends.clear();
    std::vector<std::pair<double, int>> kept = std::move(link.ends);
    link = {};
    link.ends = std::move(kept);
  }
  links_.back().level_Bps = 1;
  groups_.resize(links_.size());
  for (FlowGroup& group : groups_) group.clear();
  events_.reset(links_.size());
  filling_ = 0;
  fillings_.resize(links_.size());
  loads_Bps_.assign(links_.size(), 0);
  fullest_ = 0;
  active_.clear();
  starts_.clear();
  by_bound_.clear();
  started_ = 0;
  solution_ = {};
  solution_.start_s.assign(flows, 0);
  solution_.finish_s.assign(flows, 0);
  solution_.limited_by.assign(flows, kOwnCap);
  for (std::size_t f = 0; f < flows; ++f) load_flow(f);
  const auto delay_s = [&](int f) { return problem.activities[at(f)].delay_s; };
  std::stable_sort(starts_.begin(), starts_.end(), [&](int a, int b) { return delay_s(a) < delay_s(b); });
  std::stable_sort(by_bound_.begin(), by_bound_.end(),
                   [&](int a, int b) { return shared_.bound(at(a)).rate_Bps < shared_.bound(at(b)).rate_Bps; });
  tightest_.assign(links_.size(), 0);
  for (const int link : shared_.tightest()) tightest_[at(link)] = 1;
  choose(shared_.tightest());
}

/// One that meets no other ends when its bytes have moved at its bound.
void ManyFlows::load_flow(std::size_t flow) {
  const Activity& what = problem_->activities[flow];
  const FlowLinks::Bound& bound = shared_.bound(flow);
  if (what.work_B > 0 && shared_.meets_others(flow)) {
    starts_.push_back(static_cast<int>(flow));
    if (bound.rate_Bps < kInfinity) by_bound_.push_back(static_cast<int>(flow));
    return;
  }
  solution_.finish_s[flow] = what.delay_s;
  if (what.work_B == 0 || bound.rate_Bps == kInfinity) return;
  solution_.finish_s[flow] += what.work_B / bound.rate_Bps;
  solution_.limited_by[flow] = bound.limiter;
  flows_[flow].moved_B = bound.rate_Bps * (solution_.finish_s[flow] - what.delay_s);
}

double ManyFlows::due_s(double since_s) const {
  if (shares_ < kExactShares || since_s == kInfinity) return since_s;
  const double part = static_cast<double>(flowing_) / static_cast<double>(starts_.size());
  return since_s + since_s * (kLate * part);
}

/// When rates are shared out next.
double ManyFlows::horizon_s() const {
  double until_s = due_s(stale_s_);
  if (started_ < starts_.size()) until_s = std::min(until_s, problem_->activities[at(starts_[started_])].delay_s);
  return until_s;
}

void ManyFlows::begin_flows() {
  for (; started_ < starts_.size(); ++started_) {
    const int number = starts_[started_];
    const Activity& what = problem_->activities[at(number)];
    if (what.delay_s > now_s_ + now_s_ * kSameMoment) break;
    flows_[at(number)].left_B = what.work_B;
    Rate& rate = rates_[at(number)];
    moving_[at(number)] = true;
    rate.trunk = what.trunk;
    if (rate.trunk != kNoTrunk) trunks_.begin(rate.trunk);
    for (const int crossed : shared_.passes(at(number))) {
      const FlowLinks::Pass& pass = shared_.pass(crossed);
      Link& link = links_[at(pass.link)];
      link.weight += pass.weight;
      link.all_weight = std::max(link.all_weight, link.weight);
      ++link.flows;
    }
    active_.push_back(number);
    ++flowing_;
  }
}

void ManyFlows::end_first() {
  work::look();
  const int group = events_.top().activity;
  now_s_ = std::max(now_s_, events_.top().time_s);
  Link& link = links_[at(group)];
  move_clock(link);
  const int number = link.ends.front().second;
  Flow& flow = flows_[at(number)];
  const double last_B = moved_in_group_B(number);
  flow.moved_B += last_B;
  solution_.finish_s[at(number)] = now_s_;
  solution_.limited_by[at(number)] = pieces_.most_limited(flow.pieces, last_B, limiter(number));
  --link.members;
  groups_[at(group)].end();
  --flowing_;
  moving_[at(number)] = false;
  free_room(number);
  set_event(group);
}

/// Rate that limited flows get of the room of one that ended, as far as it goes without sharing anew.
void ManyFlows::free_room(int number) {
  const Rate& rate = rates_[at(number)];
  for (const Use& use : problem_->activities[at(number)].uses)
    loads_Bps_[at(use.constraint)] -= use.weight * rate.known_Bps;
  for (const int crossed : shared_.passes(at(number))) {
    const FlowLinks::Pass& pass = shared_.pass(crossed);
    Link& link = links_[at(pass.link)];
    link.weight -= pass.weight;
    --link.flows;
    free_room_on(pass.link, pass.weight, number);
  }
  if (rate.trunk == kNoTrunk) return;
  trunks_.end(rate.trunk, rate.known_Bps);
  for (const Trunks::Pass& pass : trunks_.limits(rate.trunk)) free_room_on(pass.number, pass.weight, number);
}

void ManyFlows::free_room_on(int index, double weight, int number) {
  Link& link = links_[at(index)];
  const int group = rates_[at(number)].group;
  if (index == group)
    link.group_weight -= weight;
  else
    link.room_Bps += weight * rate_Bps(number);
  if (link.members == 0) return;
  move_clock(link);
  const double level_Bps = link.room_Bps / link.group_weight;
  if (level_Bps > link.highest_Bps) stale_s_ = std::min(stale_s_, now_s_);
  link.level_Bps = std::clamp(level_Bps, link.level_Bps, link.highest_Bps);
  if (index != group) set_event(index);
}

void ManyFlows::move_clock(Link& link) const {
  link.clock += link.level_Bps * (now_s_ - link.clock_s);
  link.clock_s = now_s_;
}

void ManyFlows::set_event(int group) {
  Link& link = links_[at(group)];
  const auto is_gone = [&](const std::pair<double, int>& end) {
    const Rate& rate = rates_[at(end.second)];
    return !flows(end.second) || rate.group != group || flows_[at(end.second)].ends != end.first;
  };
  while (link.ends.size() > at(link.members) && is_gone(link.ends.front())) {
    std::pop_heap(link.ends.begin(), link.ends.end(), std::greater<>());
    link.ends.pop_back();
  }
  const double left = link.ends.empty() ? kInfinity : std::max(0.0, link.ends.front().first - link.clock);
  events_.set(group, link.clock_s + left / link.level_Bps);
}

double ManyFlows::moved_in_group_B(int number) const {
  const Rate& rate = rates_[at(number)];
  const double clock = links_[at(rate.group)].clock - flows_[at(number)].joined;
  return rate.group == bound_group() ? clock * shared_.bound(at(number)).rate_Bps : clock;
}

int ManyFlows::limiter(int number) const {
  const int group = rates_[at(number)].group;
  return group == bound_group() ? shared_.bound(at(number)).limiter : group;
}

Solution ManyFlows::take_solution() {
  solution_.carried_B.assign(problem_->capacity_Bps.size(), 0);
  std::vector<double> by_trunk_B(problem_->trunks.size(), 0);
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    const Activity& flow = problem_->activities[f];
    solution_.makespan_s = std::max(solution_.makespan_s, solution_.finish_s[f]);
    for (const Use& use : flow.uses) solution_.carried_B[at(use.constraint)] += use.weight * flows_[f].moved_B;
    if (flow.trunk != kNoTrunk) by_trunk_B[at(flow.trunk)] += flows_[f].moved_B;
  }
  for (std::size_t t = 0; t < by_trunk_B.size(); ++t)
    for (const Use& use : problem_->trunks[t]) solution_.carried_B[at(use.constraint)] += use.weight * by_trunk_B[t];
  return std::move(solution_);
}

namespace {

// Below this share of its first value, a sum of weights that was only subtracted from is added anew.
// source: a double has 53 bits; 2^-10 leaves 43 of them, 1e-13, to fractional weights
constexpr double kTrustedSum = 0x1p-10;
constexpr double kFull = 1 + 1e-12;  // source: ours, a constraint that can carry so many times its load is full
// source: ours. A link takes part in each filling if it is loaded to kNear; above kCrowded it may be more than full
// where rates have grown by kGrown.
constexpr double kNear = 0.7, kGrown = 1.25, kCrowded = 1 / kGrown;

constexpr std::size_t kAhead = 16;  // source: ours, of members that lie far from each other, about what memory takes

}  // namespace

/// Progressive filling, as MaxMin does it: all rates rise together; a flow stops at its bound or when one of its links
/// is full. Links that are far from it are left out as long as none can have become full.
void ManyFlows::share() {
  if (stale_s_ < now_s_) ++solution_.late_shares;
  ++shares_;
  stale_s_ = kInfinity;
  for (const int link : shared_.chosen()) move_clock(links_[at(link)]);
  move_clock(links_.back());
  if (active_.size() > 2 * flowing_) std::erase_if(active_, [this](int number) { return !flows(number); });
  if (started_ == starts_.size()) trunks_.forget_members([this](int number) { return !flows(number); });
  chose_ = false;
  do {
    begin_filling();
    fill();
  } while (!others_hold());
  find_highest();
  for (const int link : shared_.chosen())
    if (links_[at(link)].members > 0 || !links_[at(link)].ends.empty()) set_event(link);
  set_event(bound_group());
}

void ManyFlows::begin_filling() {
  ++filling_;
  rising_ = static_cast<int>(flowing_);
  at_bound_.assign(at_bound_.size(), false);
  growth_ = 1;
  grown_.clear();
  stops_.clear();
  trunks_.begin_filling();
  for (const int index : shared_.chosen()) {
    work::look();
    Link& link = links_[at(index)];
    const auto ended = [this](int flow) { return !flows(flow); };
    if (started_ == starts_.size() && shared_.members(index).size() > 2 * at(link.flows))
      shared_.forget_members(index, ended);
    link.level_Bps = 0;
    link.full = false;
    fillings_[at(index)] = {problem_->capacity_Bps[at(index)], link.weight, link.all_weight, link.flows};
    renew(index);
    if (fillings_[at(index)].rising > 0) stops_.push_back({level_Bps(index), index});
    link.weight = fillings_[at(index)].weight;
    link.all_weight = fillings_[at(index)].all_weight;
  }
}

/// Room that flows of trunks leave on a link.
void ManyFlows::renew(int index) {
  if (!trunks_.has(index)) return;
  const Trunks::Room room = trunks_.room(index);
  fillings_[at(index)] = {room.free_Bps, room.weight, room.weight, room.rising};
}

void ManyFlows::fill() {
  const auto later = [](const Stop& a, const Stop& b) {
    return a.level_Bps > b.level_Bps || (a.level_Bps == b.level_Bps && a.link > b.link);
  };
  const auto bound_Bps = [this](std::size_t place) {
    return place < by_bound_.size() ? shared_.bound(at(by_bound_[place])).rate_Bps : kInfinity;
  };
  std::make_heap(stops_.begin(), stops_.end(), later);
  std::size_t next = 0;  // in by_bound_
  while (rising_ > 0) {
    if (stops_.empty() || bound_Bps(next) <= stops_.front().level_Bps) {
      if (rising(by_bound_[next])) stop_at_bound(by_bound_[next]);
      ++next;
      continue;
    }
    std::pop_heap(stops_.begin(), stops_.end(), later);
    const Stop full = stops_.back();
    stops_.pop_back();
    renew(full.link);
    if (fillings_[at(full.link)].rising == 0) continue;
    const double level = level_Bps(full.link);
    if (level <= full.level_Bps) {
      saturate(full.link, full.level_Bps);
      continue;
    }
    stops_.push_back({level, full.link});  // flows that stopped since have left room
    std::push_heap(stops_.begin(), stops_.end(), later);
  }
}

/// The rate at which the link will be full if nothing else stops its rising flows.
double ManyFlows::level_Bps(int index) {
  Filling& link = fillings_[at(index)];
  if (link.weight < kTrustedSum * link.all_weight) {
    link.weight = 0;
    const std::span<const int> members = shared_.members(index);
    for (std::size_t i = 0; i < members.size(); ++i)
      if (rising(members[i])) link.weight += shared_.member_weights(index)[i];
    link.all_weight = link.weight;
  }
  return link.free_Bps / link.weight;
}

void ManyFlows::saturate(int index, double level_Bps) {
  Link& link = links_[at(index)];
  link.level_Bps = link.filled_Bps = level_Bps;
  link.group_weight = fillings_[at(index)].weight;
  link.room_Bps = level_Bps * link.group_weight;
  FlowGroup& group = groups_[at(index)];
  const int rising = fillings_[at(index)].rising;
  if (link.members != rising || group.size() < rising)
    gather(index, rising);
  else if (group.size() > rising || group.many_ended())
    group.keep([&](int number) { return flows(number) && rates_[at(number)].group == index; });
  if (level_Bps > std::min(growth_, kGrown) * group.least_known_Bps) note_growth(group, level_Bps);
  group.visit(moving_, [&](const FlowGroup::Member& one, const int* pass, const int* end) {
    if (one.trunk != kNoTrunk) trunks_.stop(one.trunk, level_Bps);
    for (; pass != end; ++pass) leave(shared_.pass(*pass), level_Bps);
    return true;
  });
  link.full = true;
  fillings_[at(index)].rising = 0;
  rising_ -= rising;
}

/// Flows of a link that rise become its group.
void ManyFlows::gather(int index, int rising) {
  rising_members_.clear();
  if (!trunks_.has(index)) add_rising(shared_.members(index), rising);
  if (trunks_.has(index))
    for (const Trunks::Pass& pass : trunks_.of_link(index))
      add_rising(trunks_.members(pass.number), trunks_.rising(pass.number));
  FlowGroup& group = groups_[at(index)];
  group.clear();
  for (std::size_t i = 0; i < rising_members_.size(); ++i) {
    if (i + 2 * kAhead < rising_members_.size()) shared_.prefetch_place(at(rising_members_[i + 2 * kAhead]));
    if (i + kAhead < rising_members_.size()) shared_.prefetch_passes(at(rising_members_[i + kAhead]));
    const int number = rising_members_[i];
    const Rate& rate = rates_[at(number)];
    if (rate.group != index) regroup(number, index);
    group.add(number, rate.trunk, shared_, index, rate.known_Bps);
  }
}

/// The first so many of them that rise.
template <class Members>
void ManyFlows::add_rising(const Members& members, int rising) {
  const std::size_t until = rising_members_.size() + at(rising);
  for (std::size_t i = 0; rising_members_.size() < until; ++i) {
    if (i + kAhead < members.size()) __builtin_prefetch(&rates_[at(members[i + kAhead])]);
    if (this->rising(members[i])) rising_members_.push_back(members[i]);
  }
}

/// @param rate_Bps  that all of them get
void ManyFlows::note_growth(FlowGroup& group, double rate_Bps) {
  group.least_known_Bps = kInfinity;
  group.visit(moving_, [&](const FlowGroup::Member& one, const auto* /*pass*/, const auto* /*end*/) {
    note_growth(one.flow, rate_Bps);
    group.least_known_Bps = std::min(group.least_known_Bps, rates_[at(one.flow)].known_Bps);
    return true;
  });
}

void ManyFlows::note_growth(int number, double rate_Bps) {
  const double known_Bps = rates_[at(number)].known_Bps;
  if (rate_Bps > kGrown * known_Bps)
    grown_.push_back(number);
  else if (rate_Bps > growth_ * known_Bps)
    growth_ = rate_Bps / known_Bps;
}

void ManyFlows::leave(const FlowLinks::Pass& pass, double rate_Bps) {
  Filling& filling = fillings_[at(pass.link)];
  filling.free_Bps -= pass.weight * rate_Bps;
  filling.weight -= pass.weight;
  --filling.rising;
}

void ManyFlows::stop_at_bound(int number) {
  if (rates_[at(number)].group != bound_group()) regroup(number, bound_group());
  const double rate_Bps = shared_.bound(at(number)).rate_Bps;
  at_bound_[at(number)] = true;
  note_growth(number, rate_Bps);
  --rising_;
  if (rates_[at(number)].trunk != kNoTrunk) trunks_.stop(rates_[at(number)].trunk, rate_Bps);
  for (const int pass : shared_.passes(at(number))) leave(shared_.pass(pass), rate_Bps);
}

void ManyFlows::regroup(int number, int group) {
  Flow& flow = flows_[at(number)];
  Rate& rate = rates_[at(number)];
  if (rate.group != kNone) {
    const double moved_B = moved_in_group_B(number);
    if (moved_B > 0) flow.pieces = pieces_.add(flow.pieces, moved_B, limiter(number));
    flow.moved_B += std::max(0.0, moved_B);
    flow.left_B = std::max(0.0, flow.left_B - moved_B);
    --links_[at(rate.group)].members;
  }
  Link& link = links_[at(group)];
  rate.group = group;
  flow.joined = link.clock;
  const double left = group == bound_group() ? flow.left_B / shared_.bound(at(number)).rate_Bps : flow.left_B;
  flow.ends = link.clock + left;
  ++link.members;
  link.ends.emplace_back(flow.ends, number);
  std::push_heap(link.ends.begin(), link.ends.end(), std::greater<>());
}

/// Whether the links that are not chosen have room for the rates. Their loads are brought up to date for flows that
/// have grown; for all of them, and links are chosen anew, where one may be full.
bool ManyFlows::others_hold() {
  bool crowded = false;
  for (const int number : grown_) {
    Rate& rate = rates_[at(number)];
    const double now_Bps = rate_Bps(number);
    for (const Use& use : problem_->activities[at(number)].uses) {
      loads_Bps_[at(use.constraint)] += use.weight * (now_Bps - rate.known_Bps);
      if (is_crowded(use)) crowded = true;
    }
    if (rate.trunk != kNoTrunk) trunks_.change(rate.trunk, now_Bps - rate.known_Bps);
    rate.known_Bps = now_Bps;
  }
  trunks_.load_grown(loads_Bps_, [&](const Use& use) { crowded = is_crowded(use) || crowded; });
  return !(crowded || filling_ == 1) || choose_anew();
}

/// Whether a link that is not chosen may be full, now that its load has changed.
bool ManyFlows::is_crowded(const Use& use) {
  const double part = loads_Bps_[at(use.constraint)] / problem_->capacity_Bps[at(use.constraint)];
  if (part <= fullest_ || shared_.is_chosen(use.constraint) || !shared_.is_shared(use.constraint)) return false;
  fullest_ = part;
  return part > kCrowded;
}

/// In one sharing links only come, so that it ends. @returns  whether the choice is as before
bool ManyFlows::choose_anew() {
  loads_Bps_.assign(loads_Bps_.size(), 0);
  trunks_.forget_changes();
  for (const int number : active_) {
    if (!flows(number)) continue;
    Rate& rate = rates_[at(number)];
    rate.known_Bps = rate_Bps(number);
    for (const Use& use : problem_->activities[at(number)].uses)
      loads_Bps_[at(use.constraint)] += use.weight * rate.known_Bps;
    if (rate.trunk != kNoTrunk) trunks_.change(rate.trunk, rate.known_Bps);
  }
  for (FlowGroup& group : groups_) group.least_known_Bps = 0;
  trunks_.load_grown(loads_Bps_, [](const Use& /*use*/) {});
  growth_ = 1;
  fullest_ = 0;
  const bool waiting = started_ < starts_.size();  // flows whose links have no load yet
  std::vector<int> near;
  for (const int link : shared_.shared()) {
    const double part = loads_Bps_[at(link)] / problem_->capacity_Bps[at(link)];
    if (part > kNear || (chose_ && shared_.is_chosen(link)) || (waiting && tightest_[at(link)] != 0))
      near.push_back(link);
    else
      fullest_ = std::max(fullest_, part);
  }
  if (near == shared_.chosen()) return true;
  chose_ = true;
  choose(std::move(near));
  return false;
}

void ManyFlows::choose(std::vector<int> links) {
  std::vector<int> left;
  for (std::size_t f = 0; f < flows_.size(); ++f)
    if (moving_[f] || solution_.finish_s[f] == 0) left.push_back(static_cast<int>(f));
  const std::vector<int> before = shared_.chosen();
  shared_.choose(std::move(links), left);
  if (trunks_.count() > 0) trunks_.choose(shared_.chosen());
  for (FlowGroup& group : groups_) group.clear();
  for (const int link : before)
    if (!shared_.is_chosen(link)) set_event(link);  // that limits none now
  for (const int index : shared_.chosen()) {
    Link& link = links_[at(index)];
    link.weight = 0;
    link.flows = 0;
    const std::span<const int> members = shared_.members(index);
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (!flows(members[i])) continue;
      link.weight += shared_.member_weights(index)[i];
      ++link.flows;
    }
    link.all_weight = link.weight;
    move_clock(link);
  }
}

/// How far the rate of each group may rise as its flows end. Where all rise together no other link may become full, and
/// none may pass one that is full already: who is limited there would have to give way.
void ManyFlows::find_highest() {
  const double others = growth_ * fullest_ > kTrustedSum ? 1 / (growth_ * fullest_) : 1 / kTrustedSum;
  for (const int index : shared_.chosen()) {
    Link& link = links_[at(index)];
    renew(index);
    const double capacity_Bps = problem_->capacity_Bps[at(index)];
    const double load_Bps = capacity_Bps - fillings_[at(index)].free_Bps;
    const bool full = link.level_Bps > 0 || load_Bps * kFull >= capacity_Bps;
    link.spare = full ? 1 : std::min(capacity_Bps / load_Bps, others);
    link.highest_Bps = link.level_Bps * others;  // and so that the sum of the group's weights is trusted
  }
  trunks_.note_limits([this](int link) { return links_[at(link)].members > 0; },
                      [this](int link) { return links_[at(link)].spare; });
  for (const int index : shared_.chosen())
    if (links_[at(index)].highest_Bps > links_[at(index)].level_Bps) lower_highest(index);
}

/// To what the other links and the bounds of its flows allow.
void ManyFlows::lower_highest(int index) {
  Link& link = links_[at(index)];
  FlowGroup& group = groups_[at(index)];
  double highest_Bps = link.highest_Bps;
  const auto lower = [&](const FlowGroup::Member& one, const int* pass, const int* end) {
    for (; pass != end; ++pass)
      highest_Bps = std::min(highest_Bps, link.level_Bps * links_[at(shared_.pass(*pass).link)].spare);
    if (one.trunk != kNoTrunk) highest_Bps = std::min(highest_Bps, link.level_Bps * trunks_.spare(one.trunk, index));
    return highest_Bps > link.level_Bps;
  };
  group.visit(moving_, lower);
  if (highest_Bps > group.least_bound_Bps) {
    group.least_bound_Bps = kInfinity;
    group.visit(moving_, [&](const FlowGroup::Member& one, const auto* /*pass*/, const auto* /*end*/) {
      group.least_bound_Bps = std::min(group.least_bound_Bps, shared_.bound(at(one.flow)).rate_Bps);
      return true;
    });
    highest_Bps = std::min(highest_Bps, group.least_bound_Bps);
  }
  link.highest_Bps = std::max(highest_Bps, link.level_Bps);
}

}  // namespace linkcast
