#include "sim/placement/collective_traffic.hpp"

#include "sim/forecast/collective_job.hpp"

namespace linkcast {

Traffic node_traffic(Catalogue& catalogue, const std::string& platform_id, const std::string& library,
                     const std::string& op, double size_B, const std::vector<int>& gpus) {
  const Platform& platform = catalogue.platform(platform_id);
  const Job job{
      platform, libraries().get(library), catalogue.communicator(platform_id, library, gpus), collectives().get(op), op,
      size_B};
  ProblemBuilder builder(platform);
  Run run = prepare(job, builder);
  finish(job, catalogue.solver("fluid").run(builder.problem()), run);
  return {builder.problem().activities, run.latency_s, run.time_s()};
}

Traffic nodes_traffic(Catalogue& catalogue, const std::string& platform_id, const std::string& library,
                      const std::string& op, double size_B, const PlacedNodes& where) {
  const Cluster& cluster = catalogue.cluster(platform_id);
  ClusterFlows made = placed_collective_flows(catalogue, platform_id, library, op, size_B, where, kUsualCalls);
  return traffic_of(std::move(made.flows), [&](int key) { return cluster.capacity(key); });
}

}  // namespace linkcast
