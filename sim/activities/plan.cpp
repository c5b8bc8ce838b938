#include "sim/activities/plan.hpp"

#include <algorithm>
#include <utility>

#include "sim/units/index.hpp"

namespace linkcast::activities {

PlanProblem::PlanProblem(const Cluster& machine) : machine_(machine) {
  if (machine.nodes() > 1) return;
  for (std::size_t key = 0; key < machine.node().constraints().size(); ++key) number(static_cast<int>(key));
}

int PlanProblem::add_constraint(int key, double capacity_Bps) {
  keys_.push_back(key);
  problem_.capacity_Bps.push_back(capacity_Bps);
  return static_cast<int>(keys_.size()) - 1;
}

int PlanProblem::number(int key) {
  const auto [entry, fresh] = number_.try_emplace(key, static_cast<int>(keys_.size()));
  if (fresh) add_constraint(key, machine_.capacity(key));
  return entry->second;
}

std::vector<int> PlanProblem::add(const Plan& plan) {
  std::vector<int> own, places;
  for (const OwnLimit& limit : plan.own_limits) own.push_back(add_constraint(limit.key, limit.capacity_Bps));
  const int first = static_cast<int>(problem_.activities.size());
  for (Activity activity : plan.activities) {
    for (Use& use : activity.uses)
      use.constraint = is_own_limit(use.constraint) ? own[at(own_limit(use.constraint))] : number(use.constraint);
    for (int& before : activity.after) before += first;
    for (const int queue : activity.queues) problem_.queue_count = std::max(problem_.queue_count, queue + 1);
    places.push_back(static_cast<int>(problem_.activities.size()));
    problem_.activities.push_back(std::move(activity));
  }
  return places;
}

}  // namespace linkcast::activities
