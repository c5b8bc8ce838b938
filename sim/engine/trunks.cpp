#include "sim/engine/trunks.hpp"

#include "sim/base/index.hpp"

namespace linkcast {

Problem without_trunks(Problem problem) {
  for (Activity& activity : problem.activities) {
    if (activity.trunk == kNoTrunk) continue;
    const std::vector<Use>& trunk = problem.trunks[at(activity.trunk)];
    activity.uses.insert(activity.uses.end(), trunk.begin(), trunk.end());
    activity.trunk = kNoTrunk;
  }
  problem.trunks.clear();
  return problem;
}

void Trunks::load(const Problem& problem) {
  problem_ = &problem;
  trunks_.assign(problem.trunks.size(), {});
  of_trunks_.assign(problem.capacity_Bps.size() + 1, 0);
  for (const std::vector<Use>& trunk : problem.trunks)
    for (const Use& use : trunk) of_trunks_[at(use.constraint)] = 1;
  if (trunks_.empty()) return;
  for (std::size_t f = 0; f < problem.activities.size(); ++f)
    if (const Activity& flow = problem.activities[f]; flow.trunk != kNoTrunk && flow.work_B > 0)
      trunks_[at(flow.trunk)].members.push_back(static_cast<int>(f));
}

void Trunks::choose(const std::vector<int>& links) {
  std::vector<char> chosen(of_trunks_.size(), 0);
  for (const int link : links) chosen[at(link)] = 1;
  by_trunk_.clear();
  first_of_trunk_.assign(1, 0);
  first_of_link_.assign(of_trunks_.size() + 1, 0);
  for (std::size_t t = 0; t < trunks_.size(); ++t) {
    trunks_[t].limits.clear();
    for (const Use& use : problem_->trunks[t]) {
      if (chosen[at(use.constraint)] == 0 || trunks_[t].members.empty()) continue;
      by_trunk_.push_back({use.weight, use.constraint});
      ++first_of_link_[at(use.constraint) + 1];
    }
    first_of_trunk_.push_back(by_trunk_.size());
  }
  for (std::size_t i = 1; i < first_of_link_.size(); ++i) first_of_link_[i] += first_of_link_[i - 1];
  by_link_.resize(by_trunk_.size());
  std::vector<std::size_t> next(first_of_link_.begin(), first_of_link_.end() - 1);
  for (std::size_t t = 0; t < trunks_.size(); ++t)
    for (const Pass& pass : part(by_trunk_, first_of_trunk_, static_cast<int>(t)))
      by_link_[next[at(pass.number)]++] = {pass.weight, static_cast<int>(t)};
}

void Trunks::begin_filling() {
  for (Trunk& trunk : trunks_) {
    trunk.rising = trunk.flowing;
    trunk.stopped_Bps = 0;
  }
}

Trunks::Room Trunks::room(int link) const {
  Room room{problem_->capacity_Bps[at(link)]};
  for (const Pass& pass : of_link(link)) {
    const Trunk& trunk = trunks_[at(pass.number)];
    room.free_Bps -= pass.weight * trunk.stopped_Bps;
    room.weight += pass.weight * trunk.rising;
    room.rising += trunk.rising;
  }
  return room;
}

}  // namespace linkcast
