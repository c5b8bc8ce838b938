#include "sim/replay/collective_flows.hpp"

#include "sim/collective/placed_collective.hpp"
#include "sim/plugin/pair_collective.hpp"

namespace linkcast::replay {
namespace {

/// One send and its receive, by the kernels of a library.
class Message final : public PairCollective {
 public:
  Message() : PairCollective({}) {}
  [[nodiscard]] std::vector<PairMessage> messages(Bytes size, int /*ranks*/) const override { return {{0, 1, size}}; }
  [[nodiscard]] bool own_part() const override { return false; }
  [[nodiscard]] double bus_factor(int /*ranks*/) const override { return 1; }
};

}  // namespace

activities::Plan collective_flows(catalogue::Catalogue& catalogue, const std::string& platform_id,
                                  const std::string& library, const NetworkOp& op, std::set<std::string>& warnings) {
  const auto forecast = [&](const collective::CollectiveJob& job) {
    activities::Plan plan = collective::forecast_to_share(job, catalogue.solver("fluid"));
    warnings.insert(plan.warnings.begin(), plan.warnings.end());
    return plan;
  };
  if (op.kind != NetworkOp::Kind::kMessage)
    return forecast(
        collective::place_job(catalogue, platform_id, {library, op.op, op.size_B, 1, op.nvls}, {{0}, op.gpus}).job);
  const Message message;
  collective::CollectiveJob job{catalogue.lone_node(platform_id),
                                libraries().get(library),
                                catalogue.communicator(platform_id, library, op.gpus),
                                message,
                                "sendrecv",
                                op.size_B};
  job.calls = 1;
  return forecast(job);
}

bool stages_messages(const std::string& library) {
  if (library.empty()) return false;
  const ScheduleLibrary* schedules = libraries().get(library).schedules();
  return schedules != nullptr && schedules->staging(Message()) != Staging::kNone;
}

NetworkOp message_as_call(const NetworkOp& message) {
  return {NetworkOp::Kind::kCollective, "broadcast", message.gpus, message.size_B};
}

}  // namespace linkcast::replay
