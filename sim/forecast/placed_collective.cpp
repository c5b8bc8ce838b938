#include "sim/forecast/placed_collective.hpp"

#include <utility>

#include "sim/base/index.hpp"
#include "sim/engine/solvers.hpp"
#include "sim/forecast/schedule_forecast.hpp"
#include "sim/machine/collective.hpp"
#include "sim/machine/library.hpp"
#include "sim/machine/placed_fabric.hpp"

namespace linkcast::collective {
std::string usual_library_across(const Calibration& calibration) {
  const auto has_all = [](const RingLibrary& library) {
    return library.spans_nodes() && library.message({}, {1}, 0).has_value();
  };
  const RingLibrary* rings = libraries().get(calibration.default_library).rings();
  return rings != nullptr && has_all(*rings) ? calibration.default_library : nccl_versions(has_all).front();
}

PlacedJob place_job(const catalogue::Machine& machine, const PlacedCollective& asked, const PlacedNodes& where) {
  const bool alone = where.nodes.size() == 1;
  const Cluster& cluster = alone ? machine.lone_node() : machine.cluster();
  const Calibration& calibration = machine.platform().calibration();
  const std::string library = !asked.library.empty() ? asked.library
                              : alone                ? calibration.default_library
                                                     : usual_library_across(calibration);
  // The forecast is of the first nodes of a cluster.
  std::unique_ptr<Cluster> placed = alone ? nullptr : placed_cluster(cluster, where.nodes);
  const int nodes = static_cast<int>(where.nodes.size());
  const Library& runs = libraries().get(library);
  const bool scheduled = runs.rings() == nullptr;
  std::shared_ptr<const Communicator> ranks =
      scheduled ? std::make_shared<const Communicator>(schedule_ranks(library, nodes, where.gpus))
                : machine.communicator(library, where.gpus, nodes);
  std::unique_ptr<Collective> own;
  if (!asked.parts_B.empty()) own = collectives().get(asked.op).with_parts(asked.parts_B);
  CollectiveJob job{
      placed ? *placed : cluster, runs, *ranks, own ? *own : collectives().get(asked.op), asked.op, asked.size_B};
  job.nvls = asked.nvls;
  job.own = asked.own;
  if (job.own != nullptr && scheduled)
    throw InputError("algorithm_file: is run by libraries that build rings, and " + library + " sends messages");
  job.calls = asked.calls;
  if (scheduled && !alone && runs.schedules()->staging(job.op) == Staging::kNone) job.transport = asked.transport;
  if (const std::string why = transport_refusal(job); !why.empty()) throw InputError("transport: " + why);
  job.order = where.nodes;
  return {std::move(placed), std::move(ranks), std::move(own), std::move(job)};
}

activities::Plan placed_collective(catalogue::Catalogue& catalogue, const catalogue::Machine& machine,
                                   const PlacedCollective& asked, const PlacedNodes& where) {
  const PlacedJob placed = place_job(machine, asked, where);
  activities::Plan plan = forecast_to_share(placed.job, catalogue.solver(SolverChoice::name()));
  share(placed.job, machine.cluster(), plan);
  return plan;
}

}  // namespace linkcast::collective
