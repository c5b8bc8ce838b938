#include "sim/plan/slowed_problem.hpp"

#include <map>

namespace linkcast::congestion {

SlowedProblem::SlowedProblem(activities::ClusterProblem& made) : quiet_(made.problem()), problem_(quiet_) {
  std::map<int, std::size_t> place;  // of the uses of one activity, by constraint
  int of = -1;
  for (const activities::ClusterProblem::Crossed& crossed : made.crossed()) {
    const auto activity = static_cast<std::size_t>(crossed.activity);
    if (of != crossed.activity) {
      place.clear();
      for (std::size_t i = 0; i < quiet_.activities[activity].uses.size(); ++i)
        place[quiet_.activities[activity].uses[i].constraint] = i;
      of = crossed.activity;
    }
    for (const Use& use : crossed.uses)
      parts_.push_back({activity, place.at(use.constraint), ways_.size(), use.weight});
    by_.push_back(crossed.activity);
    ways_.push_back(noisy_way(made.cluster().fabric(), crossed.from, crossed.to));
  }
}

const Problem& SlowedProblem::slowed(const CrossingSlowdown& slowdown) {
  factor_.clear();
  for (std::size_t crossing = 0; crossing < ways_.size(); ++crossing)
    factor_.push_back(slowdown(ways_[crossing], by_[crossing]) - 1);
  for (const Part& part : parts_)
    problem_.activities[part.activity].uses[part.use].weight = quiet_.activities[part.activity].uses[part.use].weight;
  for (const Part& part : parts_)
    problem_.activities[part.activity].uses[part.use].weight += part.weight * factor_[part.crossing];
  return problem_;
}

}  // namespace linkcast::congestion
