#include "sim/replay/copy_flows.hpp"

#include <utility>

#include "sim/activities/transfer.hpp"
#include "sim/uncertainty/interval.hpp"
#include "sim/uncertainty/verdict.hpp"
#include "sim/units/index.hpp"

namespace linkcast::replay {

activities::Plan copy_plan(catalogue::Catalogue& catalogue, const std::string& platform_id, const NetworkOp& op,
                           bool behind) {
  const Platform& platform = catalogue.platform(platform_id);
  const int gpu = platform.gpu(op.gpus.at(0));
  activities::Transfer transfer;
  transfer.source = op.kind == NetworkOp::Kind::kHostToDevice ? platform.socket_of(gpu) : gpu;
  transfer.target = op.kind == NetworkOp::Kind::kDeviceToHost ? platform.socket_of(gpu) : platform.gpu(op.gpus.back());
  transfer.bytes = op.size_B;
  transfer.single = true;
  activities::ProblemBuilder alone_builder(platform);
  const activities::PlannedTransfer lone = alone_builder.add(transfer);
  const Solution alone = catalogue.solver("fluid").run(alone_builder.problem());
  uncertainty::Verdict verdict;
  uncertainty::Uncertainty uncertainty = uncertainty::uncertainty_of(alone_builder, alone, {lone}, op.size_B, verdict);
  uncertainty::check_validity(platform, op.size_B, uncertainty::part_that_grows(lone.latency_s, alone.makespan_s),
                              verdict, uncertainty);
  activities::Plan plan;
  plan.alone_s = alone.makespan_s;
  plan.spread = uncertainty::spread_of(uncertainty.around(alone.makespan_s), alone.makespan_s);
  activities::ProblemBuilder builder(platform);
  if (behind) builder.add(transfer);
  const activities::PlannedTransfer planned = builder.add(transfer);
  for (const int index : planned.activities) {
    Activity stage = builder.problem().activities[at(index)];
    stage.after.clear();
    if (!plan.activities.empty()) stage.after = {static_cast<int>(plan.activities.size()) - 1};
    plan.activities.push_back(std::move(stage));
  }
  return plan;
}

}  // namespace linkcast::replay
