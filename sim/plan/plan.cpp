#include "sim/plan/plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/engine/plan_record.hpp"
#include "sim/plan/link_name.hpp"

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

int PlanProblem::limit(const OwnLimit& own) {
  if (!own.common) return add_constraint(own.key, own.capacity_Bps);
  const auto [entry, fresh] = common_.try_emplace(own.key, static_cast<int>(keys_.size()));
  if (fresh) add_constraint(own.key, own.capacity_Bps);
  return entry->second;
}

std::vector<int> PlanProblem::add(const Plan& plan) {
  std::vector<int> own, places;
  for (const OwnLimit& limit : plan.own_limits) own.push_back(this->limit(limit));
  const int first = static_cast<int>(problem_.activities.size());
  for (Activity activity : plan.activities) {
    for (Use& use : activity.uses)
      use.constraint = is_own_limit(use.constraint) ? own[at(own_limit(use.constraint))] : number(use.constraint);
    for (int& before : activity.after) before += first;
    for (const int queue : activity.queues) problem_.queue_count = std::max(problem_.queue_count, queue + 1);
    places.push_back(static_cast<int>(problem_.activities.size()));
    problem_.activities.push_back(std::move(activity));
  }
  if (PlanRecord* record = PlanRecord::current())
    record->name_links(problem_,
                       [this](int constraint) { return link_name(machine_, key(constraint), machine_.nodes() > 1); });
  return places;
}

Activity average_of(const Plan& plan) {
  std::vector<double> chain_B;
  std::map<int, double> load_B;
  Activity average;
  for (const Activity& one : plan.activities) {
    double before_B = 0;
    for (const int earlier : one.after) before_B = std::max(before_B, chain_B[at(earlier)]);
    chain_B.push_back(before_B + one.work_B);
    average.work_B = std::max(average.work_B, chain_B.back());
    for (const Use& use : one.uses)
      if (!is_own_limit(use.constraint)) load_B[use.constraint] += use.weight * one.work_B;
  }
  for (const auto& [key, bytes] : load_B)
    if (bytes > 0) average.uses.push_back({key, bytes / average.work_B});
  return average;
}

}  // namespace linkcast::activities
