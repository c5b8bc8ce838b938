#include "sim/placement/collective_traffic.hpp"

#include "sim/collective/collective_run.hpp"

namespace linkcast::placement {

Traffic node_traffic(catalogue::Catalogue& catalogue, const std::string& platform_id, const std::string& library,
                     const std::string& op, double size_B, const std::vector<int>& gpus) {
  const collective::CollectiveJob job{catalogue.lone_node(platform_id),
                                      libraries().get(library),
                                      catalogue.communicator(platform_id, library, gpus),
                                      collectives().get(op),
                                      op,
                                      size_B};
  activities::ClusterProblem problem(job.machine);
  const collective::CollectiveRun run = collective::run_alone(job, catalogue.solver("fluid"), problem);
  return {problem.problem().activities, run.made.latency_s, run.time_s()};
}

Traffic nodes_traffic(catalogue::Catalogue& catalogue, const std::string& platform_id, const std::string& library,
                      const std::string& op, double size_B, const collective::PlacedNodes& where) {
  const Cluster& cluster = catalogue.cluster(platform_id);
  activities::Plan made = collective::placed_collective(catalogue, platform_id, {library, op, size_B}, where);
  return traffic_of(std::move(made.activities), [&](int key) { return cluster.capacity(key); });
}

}  // namespace linkcast::placement
