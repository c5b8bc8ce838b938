// ManyFlows: how rates are shared out.
#include <algorithm>
#include <functional>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/stop.hpp"
#include "sim/engine/many_flows.hpp"

namespace linkcast {
namespace {

// Below this share of its first value, a sum of weights that was only subtracted from is added anew.
// source: a double has 53 bits; 2^-10 leaves 43 of them, 1e-13, to fractional weights
constexpr double kTrustedSum = 0x1p-10;
constexpr double kFull = 1 + 1e-12;  // source: ours, a constraint that can carry so many times its load is full
// source: ours. A link takes part in each filling if it is loaded to kNear; above kCrowded it may be more than full
// where rates have grown by kGrown.
constexpr double kNear = 0.7, kGrown = 1.25, kCrowded = 1 / kGrown;

constexpr std::size_t kAhead = 12;  // source: ours, of members, about what memory takes

}  // namespace

/// Progressive filling, as MaxMin does it: all rates rise together; a flow stops at its bound or when one of its links
/// is full. Links that are far from it are left out as long as none can have become full.
void ManyFlows::share() {
  if (stale_s_ < now_s_) ++solution_.late_shares;
  ++shares_;
  stale_s_ = kInfinity;
  for (const int link : shared_.chosen()) move_clock(links_[at(link)]);
  move_clock(links_.back());
  if (active_.size() > 2 * flowing_)
    std::erase_if(active_, [this](int number) { return rates_[at(number)].stopped == kNotFlowing; });
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
  growth_ = 1;
  grown_.clear();
  stops_.clear();
  for (const int index : shared_.chosen()) {
    work::look();
    Link& link = links_[at(index)];
    const auto ended = [this](int flow) { return rates_[at(flow)].stopped == kNotFlowing; };
    if (started_ == starts_.size() && shared_.members(index).size() > 2 * at(link.flows))
      shared_.forget_members(index, ended);
    link.level_Bps = 0;
    fillings_[at(index)] = {problem_->capacity_Bps[at(index)], link.weight, link.all_weight, link.flows};
    if (link.flows > 0) stops_.push_back({level_Bps(index), index});
    link.weight = fillings_[at(index)].weight;
    link.all_weight = fillings_[at(index)].all_weight;
  }
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
      if (rising(by_bound_[next])) stop(by_bound_[next], bound_Bps(next), bound_group());
      ++next;
      continue;
    }
    std::pop_heap(stops_.begin(), stops_.end(), later);
    const Stop full = stops_.back();
    stops_.pop_back();
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
    for (const FlowLinks::Member& member : shared_.members(index))
      if (rising(member.flow)) link.weight += member.weight;
    link.all_weight = link.weight;
  }
  return link.free_Bps / link.weight;
}

void ManyFlows::saturate(int index, double level_Bps) {
  Link& link = links_[at(index)];
  link.level_Bps = level_Bps;
  link.group_weight = fillings_[at(index)].weight;
  link.room_Bps = level_Bps * link.group_weight;
  const std::span<const FlowLinks::Member> members = shared_.members(index);
  for (std::size_t i = 0; i < members.size() && fillings_[at(index)].rising > 0; ++i) {
    if (i + kAhead < members.size()) {  // flows of a link lie far from each other
      __builtin_prefetch(&rates_[at(members[i + kAhead].flow)]);
      shared_.prefetch_passes(at(members[i + kAhead].flow));
    }
    if (rising(members[i].flow)) stop(members[i].flow, level_Bps, index);
  }
}

void ManyFlows::stop(int number, double rate_Bps, int group) {
  Rate& rate = rates_[at(number)];
  if (rate.group != group) regroup(number, group);
  rate.rate_Bps = rate_Bps;
  rate.stopped = filling_;
  if (rate_Bps > kGrown * rate.known_Bps)
    grown_.push_back(number);
  else if (rate_Bps > growth_ * rate.known_Bps)
    growth_ = rate_Bps / rate.known_Bps;
  --rising_;
  for (const FlowLinks::Pass& pass : shared_.passes(at(number))) {
    Filling& link = fillings_[at(pass.link)];
    link.free_Bps -= pass.weight * rate_Bps;
    link.weight -= pass.weight;
    --link.rising;
  }
}

void ManyFlows::regroup(int number, int group) {
  Flow& flow = flows_[at(number)];
  Rate& rate = rates_[at(number)];
  if (rate.group != kNone) {
    const double moved_B = moved_in_group_B(number);
    add_piece(flow, moved_B, limiter(number));
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
    for (const Use& use : problem_->activities[at(number)].uses) {
      double& load_Bps = loads_Bps_[at(use.constraint)];
      load_Bps += use.weight * (rate.rate_Bps - rate.known_Bps);
      const double part = load_Bps / problem_->capacity_Bps[at(use.constraint)];
      if (part <= fullest_ || shared_.is_chosen(use.constraint) || !shared_.is_shared(use.constraint)) continue;
      fullest_ = part;
      crowded = crowded || part > kCrowded;
    }
    rate.known_Bps = rate.rate_Bps;
  }
  return !(crowded || filling_ == 1) || choose_anew();
}

/// In one sharing links only come, so that it ends. @returns  whether the choice is as before
bool ManyFlows::choose_anew() {
  loads_Bps_.assign(loads_Bps_.size(), 0);
  for (const int number : active_) {
    if (rates_[at(number)].stopped == kNotFlowing) continue;
    rates_[at(number)].known_Bps = rates_[at(number)].rate_Bps;
    for (const Use& use : problem_->activities[at(number)].uses)
      loads_Bps_[at(use.constraint)] += use.weight * rates_[at(number)].rate_Bps;
  }
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
  std::vector<int> flows;
  for (std::size_t f = 0; f < flows_.size(); ++f)
    if (rates_[f].stopped != kNotFlowing || solution_.finish_s[f] == 0) flows.push_back(static_cast<int>(f));
  const std::vector<int> before = shared_.chosen();
  shared_.choose(std::move(links), flows);
  for (const int link : before)
    if (!shared_.is_chosen(link)) set_event(link);  // that limits none now
  for (const int index : shared_.chosen()) {
    Link& link = links_[at(index)];
    link.weight = 0;
    link.flows = 0;
    for (const FlowLinks::Member& member : shared_.members(index)) {
      if (rates_[at(member.flow)].stopped == kNotFlowing) continue;
      link.weight += member.weight;
      ++link.flows;
    }
    link.all_weight = link.weight;
    move_clock(link);
  }
}

/// How far the rate of each group may rise as its flows end. Where all rise together no other link may become full, and
/// none may pass one that is full already: who is limited there would have to give way.
void ManyFlows::find_highest() {
  int rising = 0;  // groups
  const double others = growth_ * fullest_ > kTrustedSum ? 1 / (growth_ * fullest_) : 1 / kTrustedSum;
  for (const int index : shared_.chosen()) {
    Link& link = links_[at(index)];
    const double capacity_Bps = problem_->capacity_Bps[at(index)];
    const double load_Bps = capacity_Bps - fillings_[at(index)].free_Bps;
    const bool full = link.level_Bps > 0 || load_Bps * kFull >= capacity_Bps;
    link.spare = full ? 1 : std::min(capacity_Bps / load_Bps, others);
    link.highest_Bps = link.level_Bps * others;  // and so that the sum of the group's weights is trusted
    if (link.highest_Bps > link.level_Bps) ++rising;
  }
  for (const int number : active_) {
    if (rising == 0) break;
    const Rate& rate = rates_[at(number)];
    if (rate.group == bound_group() || rate.stopped == kNotFlowing) continue;
    Link& group = links_[at(rate.group)];
    if (group.highest_Bps <= group.level_Bps) continue;
    double highest_Bps = std::min(group.highest_Bps, shared_.bound(at(number)).rate_Bps);
    for (const FlowLinks::Pass& pass : shared_.passes(at(number)))
      if (pass.link != rate.group) highest_Bps = std::min(highest_Bps, group.level_Bps * links_[at(pass.link)].spare);
    group.highest_Bps = std::max(highest_Bps, group.level_Bps);
    if (highest_Bps <= group.level_Bps) --rising;
  }
}

}  // namespace linkcast
