#include "sim/engine/flow_links.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "sim/base/index.hpp"

namespace linkcast {
namespace {

/// A number for who uses a constraint and in what proportion.
struct Users {
  double first_weight = 0;
  std::uint64_t low = 0, high = 0;

  void add(std::size_t flow, double weight) {
    if (first_weight == 0) first_weight = weight;
    const std::uint64_t mixed = mix(std::bit_cast<std::uint64_t>(weight / first_weight) ^ mix(flow + 1));
    low += mixed;
    high += mix(mixed);
  }
  /// source: splitmix64, Steele, Lea and Flood, OOPSLA 2014
  static std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
  }
};

}  // namespace

/// The lower of equally tight constraints counts, as where rates are filled.
void FlowLinks::find_shared() {
  std::vector<Users> users(users_.size());
  for (std::size_t f = 0; f < problem_->activities.size(); ++f)
    for (const Use& use : problem_->activities[f].uses)
      if (users_[at(use.constraint)] > 1) users[at(use.constraint)].add(f, use.weight);
  for (std::size_t t = 0; t < problem_->trunks.size(); ++t)
    for (const Use& use : problem_->trunks[t])
      users[at(use.constraint)].add(problem_->activities.size() + t, use.weight);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> tightest;
  const auto room = [&](std::size_t c) { return problem_->capacity_Bps[c] / users[c].first_weight; };
  is_shared_.assign(users_.size(), 0);
  for (std::size_t c = 0; c < users_.size(); ++c) {
    if (users_[c] < 2) continue;
    const auto [known, fresh] = tightest.try_emplace({users[c].low, users[c].high}, c);
    if (!fresh && room(c) >= room(known->second)) continue;
    is_shared_[known->second] = 0;
    is_shared_[c] = 1;
    known->second = c;
  }
  shared_.clear();
  for (std::size_t c = 0; c < users_.size(); ++c)
    if (is_shared_[c] != 0) shared_.push_back(static_cast<int>(c));
}

void FlowLinks::load(const Problem& problem) {
  problem_ = &problem;
  users_.assign(problem.capacity_Bps.size(), 0);
  weights_.assign(problem.capacity_Bps.size(), 0);
  std::vector<int> flows_of(problem.trunks.size(), 0);
  for (const Activity& flow : problem.activities) {
    if (flow.trunk != kNoTrunk) ++flows_of[at(flow.trunk)];
    for (const Use& use : flow.uses) {
      ++users_[at(use.constraint)];
      weights_[at(use.constraint)] += use.weight;
    }
  }
  for (std::size_t t = 0; t < problem.trunks.size(); ++t)
    for (const Use& use : problem.trunks[t]) {
      users_[at(use.constraint)] = std::numeric_limits<int>::max();  // shared, even if by one flow
      weights_[at(use.constraint)] += use.weight * flows_of[t];
    }
  find_shared();
  bounds_.clear();
  for (const Activity& flow : problem.activities) {
    Bound bound{flow.rate_cap_Bps, kOwnCap};  // ties go to the flow's own cap, then to the lower constraint
    for (const Use& use : flow.uses) {
      if (users_[at(use.constraint)] > 1) continue;
      const double rate_Bps = problem.capacity_Bps[at(use.constraint)] / use.weight;
      const bool lower = bound.limiter != kOwnCap && use.constraint < bound.limiter;
      if (rate_Bps < bound.rate_Bps || (rate_Bps == bound.rate_Bps && lower)) bound = {rate_Bps, use.constraint};
    }
    bounds_.push_back(bound);
  }
  place_.assign(users_.size(), -1);
  chosen_.clear();
}

bool FlowLinks::meets_others(std::size_t flow) const {
  const std::vector<Use>& uses = problem_->activities[flow].uses;
  if (problem_->activities[flow].trunk != kNoTrunk) return true;
  return std::any_of(uses.begin(), uses.end(), [this](const Use& use) { return users_[at(use.constraint)] > 1; });
}

std::vector<int> FlowLinks::tightest() const {
  const auto level_Bps = [this](int c) { return problem_->capacity_Bps[at(c)] / weights_[at(c)]; };
  const auto tighter = [&](int least, const std::vector<Use>& uses) {
    for (const Use& use : uses)
      if (is_shared(use.constraint) && (least < 0 || level_Bps(use.constraint) < level_Bps(least)))
        least = use.constraint;
    return least;
  };
  std::vector<int> of_trunk;
  for (const std::vector<Use>& trunk : problem_->trunks) of_trunk.push_back(tighter(-1, trunk));
  std::vector<char> found(users_.size(), 0);
  for (const Activity& flow : problem_->activities) {
    const int least = tighter(flow.trunk == kNoTrunk ? -1 : of_trunk[at(flow.trunk)], flow.uses);
    if (least >= 0) found[at(least)] = 1;
  }
  std::vector<int> links;
  for (const int c : shared_)
    if (found[at(c)] != 0) links.push_back(c);
  return links;
}

/// Number of its pass, which is new where no flow crossed the link with this weight.
int FlowLinks::number_of(const Use& use) {
  int& last = last_kind_[at(place_[at(use.constraint)])];
  for (int kind = last; kind >= 0; kind = older_kind_[at(kind)])
    if (kinds_[at(kind)].weight == use.weight) return kind;
  kinds_.push_back({use.weight, use.constraint});
  older_kind_.push_back(last);
  return last = static_cast<int>(kinds_.size()) - 1;
}

void FlowLinks::choose(std::vector<int> links, const std::vector<int>& flows) {
  for (const int before : chosen_) place_[at(before)] = -1;
  chosen_ = std::move(links);
  for (std::size_t i = 0; i < chosen_.size(); ++i) place_[at(chosen_[i])] = static_cast<int>(i);
  first_pass_.assign(bounds_.size() + 1, 0);
  passes_.clear();
  kinds_.clear();
  older_kind_.clear();
  last_kind_.assign(chosen_.size(), -1);
  end_member_.assign(chosen_.size(), 0);
  auto next = flows.begin();
  for (std::size_t flow = 0; flow < bounds_.size(); ++flow) {
    first_pass_[flow] = static_cast<unsigned>(passes_.size());
    if (next == flows.end() || at(*next) != flow) continue;
    ++next;
    for (const Use& use : problem_->activities[flow].uses) {
      const int place = place_[at(use.constraint)];
      if (place < 0) continue;
      passes_.push_back(number_of(use));
      ++end_member_[at(place)];
    }
  }
  first_pass_.back() = static_cast<unsigned>(passes_.size());
  first_member_.resize(chosen_.size());
  std::size_t members = 0;
  for (std::size_t i = 0; i < chosen_.size(); ++i) {
    first_member_[i] = members;
    members += std::exchange(end_member_[i], members);
  }
  members_.resize(members);
  member_weights_.resize(members);
  for (const int flow : flows)
    for (const int number : passes(at(flow))) {
      const std::size_t place = end_member_[at(place_[at(pass(number).link)])]++;
      members_[place] = flow;
      member_weights_[place] = pass(number).weight;
    }
}

}  // namespace linkcast
