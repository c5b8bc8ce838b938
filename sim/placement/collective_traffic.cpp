#include "sim/placement/collective_traffic.hpp"

#include "sim/collective/collective_job.hpp"

namespace linkcast::placement {

Traffic node_traffic(catalogue::Catalogue& catalogue, const std::string& platform_id, const std::string& library,
                     const std::string& op, double size_B, const std::vector<int>& gpus) {
  const Platform& platform = catalogue.platform(platform_id);
  const collective::Job job{
      platform, libraries().get(library), catalogue.communicator(platform_id, library, gpus), collectives().get(op), op,
      size_B};
  activities::ProblemBuilder builder(platform);
  collective::Run run = collective::prepare(job, builder);
  collective::finish(job, catalogue.solver("fluid").run(builder.problem()), run);
  return {builder.problem().activities, run.latency_s, run.time_s()};
}

Traffic nodes_traffic(catalogue::Catalogue& catalogue, const std::string& platform_id, const std::string& library,
                      const std::string& op, double size_B, const collective::PlacedNodes& where) {
  const Cluster& cluster = catalogue.cluster(platform_id);
  collective::ClusterFlows made =
      collective::placed_collective_flows(catalogue, platform_id, library, op, size_B, where, collective::kUsualCalls);
  return traffic_of(std::move(made.flows), [&](int key) { return cluster.capacity(key); });
}

}  // namespace linkcast::placement
