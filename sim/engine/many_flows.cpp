#include "sim/engine/many_flows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/stop.hpp"
#include "sim/engine/check.hpp"
#include "sim/engine/event_source.hpp"

namespace linkcast {
namespace {

/// Flows of the largest connected component.
std::size_t largest_component(const Problem& problem) {
  std::vector<int> parent(problem.capacity_Bps.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int c) {
    while (parent[at(c)] != c) c = parent[at(c)] = parent[at(parent[at(c)])];
    return c;
  };
  for (const Activity& flow : problem.activities)
    for (const Use& use : flow.uses) parent[at(root(use.constraint))] = root(flow.uses.front().constraint);
  std::vector<std::size_t> flows(parent.size(), 0);
  std::size_t most = 0;
  for (const Activity& flow : problem.activities)
    if (!flow.uses.empty()) most = std::max(most, ++flows[at(root(flow.uses.front().constraint))]);
  return most;
}

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
  now_s_ = 0;
  stale_s_ = kInfinity;
  shares_ = 0;
  flowing_ = 0;
  const std::size_t flows = problem.activities.size();
  flows_.assign(flows, {});
  rates_.assign(flows, {});
  pieces_.clear();
  links_.resize(problem.capacity_Bps.size() + 1);
  for (Link& link : links_) {
    link.ends.clear();
    std::vector<std::pair<double, int>> kept = std::move(link.ends);
    link = {};
    link.ends = std::move(kept);
  }
  links_.back().level_Bps = 1;
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
    rates_[at(number)].stopped = 0;
    for (const FlowLinks::Pass& pass : shared_.passes(at(number))) {
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
  solution_.limited_by[at(number)] = most_limited(flow, last_B, limiter(number));
  --link.members;
  --flowing_;
  rates_[at(number)].stopped = kNotFlowing;
  free_room(number);
  set_event(group);
}

/// Rate that limited flows get of the room of one that ended, as far as it goes without sharing anew.
void ManyFlows::free_room(int number) {
  const Rate& rate = rates_[at(number)];
  for (const Use& use : problem_->activities[at(number)].uses)
    loads_Bps_[at(use.constraint)] -= use.weight * rate.known_Bps;
  for (const FlowLinks::Pass& pass : shared_.passes(at(number))) {
    Link& link = links_[at(pass.link)];
    link.weight -= pass.weight;
    --link.flows;
    if (pass.link == rate.group)
      link.group_weight -= pass.weight;
    else
      link.room_Bps += pass.weight * rate.rate_Bps;
    if (link.members == 0) continue;
    move_clock(link);
    const double level_Bps = link.room_Bps / link.group_weight;
    if (level_Bps > link.highest_Bps) stale_s_ = std::min(stale_s_, now_s_);
    link.level_Bps = std::clamp(level_Bps, link.level_Bps, link.highest_Bps);
    if (pass.link != rate.group) set_event(pass.link);
  }
}

void ManyFlows::move_clock(Link& link) const {
  link.clock += link.level_Bps * (now_s_ - link.clock_s);
  link.clock_s = now_s_;
}

void ManyFlows::set_event(int group) {
  Link& link = links_[at(group)];
  const auto is_gone = [&](const std::pair<double, int>& end) {
    const Rate& rate = rates_[at(end.second)];
    return rate.stopped == kNotFlowing || rate.group != group || flows_[at(end.second)].ends != end.first;
  };
  while (!link.ends.empty() && is_gone(link.ends.front())) {
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

void ManyFlows::add_piece(Flow& flow, double moved_B, int limiter) {
  if (moved_B <= 0) return;
  flow.moved_B += moved_B;
  for (int i = flow.pieces; i >= 0; i = pieces_[at(i)].older)
    if (pieces_[at(i)].limiter == limiter) {
      pieces_[at(i)].moved_B += moved_B;
      return;
    }
  pieces_.push_back({moved_B, limiter, flow.pieces});
  flow.pieces = static_cast<int>(pieces_.size()) - 1;
}

/// Constraint that limited the flow for most of its bytes; the lower of equal ones.
int ManyFlows::most_limited(const Flow& flow, double last_B, int last) const {
  Piece most{last_B, last};
  for (int i = flow.pieces; i >= 0; i = pieces_[at(i)].older)
    if (pieces_[at(i)].limiter == last) most.moved_B += pieces_[at(i)].moved_B;
  for (int i = flow.pieces; i >= 0; i = pieces_[at(i)].older) {
    const Piece& piece = pieces_[at(i)];
    const bool tie = piece.moved_B == most.moved_B && piece.limiter < most.limiter;
    if (piece.limiter != last && (piece.moved_B > most.moved_B || tie)) most = piece;
  }
  return most.limiter;
}

Solution ManyFlows::take_solution() {
  solution_.carried_B.assign(problem_->capacity_Bps.size(), 0);
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    solution_.makespan_s = std::max(solution_.makespan_s, solution_.finish_s[f]);
    for (const Use& use : problem_->activities[f].uses)
      solution_.carried_B[at(use.constraint)] += use.weight * flows_[f].moved_B;
  }
  return std::move(solution_);
}

}  // namespace linkcast
