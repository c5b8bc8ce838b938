#include "sim/replay/collective_flows.hpp"

#include <utility>

#include "sim/collective/collective_job.hpp"
#include "sim/collective/collective_result.hpp"
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

FlowsAlone collective_flows(catalogue::Catalogue& catalogue, const std::string& platform_id, const std::string& library,
                            const NetworkOp& op, std::set<std::string>& warnings) {
  const Message message;
  const bool is_message = op.kind == NetworkOp::Kind::kMessage;
  const Platform& platform = catalogue.platform(platform_id);
  const collective::Job job{platform,
                            libraries().get(library),
                            catalogue.communicator(platform_id, library, op.gpus),
                            is_message ? message : collectives().get(op.op),
                            is_message ? "sendrecv" : op.op,
                            op.size_B,
                            "",
                            "",
                            false,
                            1};
  activities::ProblemBuilder builder(platform);
  collective::Run run = collective::prepare(job, builder);
  const Solution alone = catalogue.solver("fluid").run(builder.problem());
  collective::finish(job, alone, run);
  for (const Json& warning : collective::warnings_of(job, run)) warnings.insert(warning.get<std::string>());
  FlowsAlone planned{{}, uncertainty::spread_of(collective::interval_of(job, run), run.time_s())};
  for (const int index : run.activities) {
    Activity flow = builder.problem().activities[at(index)];
    const double alone_s = alone.finish_s[at(index)] * run.stretch;
    if (alone_s > 0) flow.rate_cap_Bps = flow.work_B / alone_s;
    flow.delay_s = run.latency_s;
    planned.flows.push_back(std::move(flow));
  }
  return planned;
}

}  // namespace linkcast::replay
