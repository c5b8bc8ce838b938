#include "sim/replay/collective_flows.hpp"

#include <utility>

#include "sim/collective/collective_forecast.hpp"
#include "sim/uncertainty/verdict.hpp"
#include "sim/units/index.hpp"

namespace linkcast::replay {
namespace {

/// One send and its receive, by the kernels of a library.
class Message final : public Collective {
 public:
  [[nodiscard]] Bytes bytes_per_hop(Bytes /*size*/, int /*ranks*/) const override { return {0}; }
  [[nodiscard]] int steps(int /*ranks*/) const override { return 1; }
  [[nodiscard]] bool closed() const override { return false; }
  [[nodiscard]] std::vector<PairMessage> messages(Bytes size, int /*ranks*/) const override { return {{0, 1, size}}; }
  [[nodiscard]] double bus_factor(int /*ranks*/) const override { return 1; }
};

}  // namespace

void place_own_limits(const std::vector<activities::OwnLimit>& limits, const std::function<int(double)>& add,
                      std::vector<Activity>& flows) {
  std::vector<int> numbers;
  for (const activities::OwnLimit& limit : limits) numbers.push_back(add(limit.capacity_Bps));
  for (Activity& flow : flows)
    for (Use& use : flow.uses)
      if (activities::is_own_limit(use.constraint)) use.constraint = numbers[at(activities::own_limit(use.constraint))];
}

FlowsAlone collective_flows(catalogue::Catalogue& catalogue, const std::string& platform_id, const std::string& library,
                            const NetworkOp& op, std::set<std::string>& warnings) {
  const Message message;
  const bool is_message = op.kind == NetworkOp::Kind::kMessage;
  collective::CollectiveJob job{catalogue.lone_node(platform_id),
                                libraries().get(library),
                                catalogue.communicator(platform_id, library, op.gpus),
                                is_message ? message : collectives().get(op.op),
                                is_message ? "sendrecv" : op.op,
                                op.size_B};
  job.calls = 1;
  activities::Plan plan = collective::forecast_to_share(job, catalogue.solver("fluid"));
  warnings.insert(plan.warnings.begin(), plan.warnings.end());
  return {std::move(plan.activities), plan.spread, std::move(plan.own_limits)};
}

FlowsAlone copy_stages(catalogue::Catalogue& catalogue, const std::string& platform_id, const NetworkOp& op) {
  const Platform& platform = catalogue.platform(platform_id);
  const int gpu = platform.gpu(op.gpus.at(0));
  activities::Transfer transfer;
  transfer.source = op.kind == NetworkOp::Kind::kHostToDevice ? platform.socket_of(gpu) : gpu;
  transfer.target = op.kind == NetworkOp::Kind::kDeviceToHost ? platform.socket_of(gpu) : gpu;
  transfer.bytes = op.size_B;
  transfer.single = true;
  activities::ProblemBuilder builder(platform);
  const activities::PlannedTransfer plan = builder.add(transfer);
  const Solution alone = catalogue.solver("fluid").run(builder.problem());
  uncertainty::Verdict verdict;
  uncertainty::Uncertainty uncertainty = uncertainty::uncertainty_of(builder, alone, {plan}, op.size_B, verdict);
  uncertainty::check_validity(platform, op.size_B, verdict, uncertainty);
  FlowsAlone planned{{}, uncertainty::spread_of(uncertainty.around(alone.makespan_s), alone.makespan_s), {}};
  for (const int index : plan.activities) {
    Activity flow = builder.problem().activities[at(index)];
    flow.after.clear();
    flow.queues.clear();
    planned.flows.push_back(std::move(flow));
  }
  return planned;
}

}  // namespace linkcast::replay
