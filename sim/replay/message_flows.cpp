#include "sim/replay/message_flows.hpp"

#include "sim/uncertainty/verdict.hpp"

namespace linkcast::replay {

MessageFlows message_flows(const Cluster& cluster, const activities::Message& message, Solver& solver,
                           std::set<std::string>& warnings) {
  activities::ClusterProblem problem(cluster);
  const activities::PlannedMessage plan = activities::add_message(problem, message);
  const double alone_s = solver.run(problem.problem()).makespan_s;
  uncertainty::Verdict verdict;
  uncertainty::judge(cluster, plan, message.bytes, verdict);
  warnings.insert(verdict.warnings.begin(), verdict.warnings.end());
  uncertainty::Uncertainty uncertainty = uncertainty::uncertainty_of(verdict, alone_s);
  uncertainty::check_validity(cluster.node(), message.bytes, uncertainty::part_that_grows(plan.latency_s, alone_s),
                              verdict, uncertainty);
  MessageFlows flows;
  flows.network = plan.network;
  flows.plan.alone_s = alone_s;
  flows.plan.spread = uncertainty::spread_of(uncertainty.around(alone_s), alone_s);
  flows.plan.activities = problem.problem().activities;
  for (std::size_t i = 0; i < flows.plan.activities.size(); ++i) {
    Activity& stage = flows.plan.activities[i];
    for (Use& use : stage.uses) use.constraint = problem.key(use.constraint);
    stage.after = i > 0 ? std::vector<int>{static_cast<int>(i) - 1} : std::vector<int>{};
  }
  return flows;
}

}  // namespace linkcast::replay
