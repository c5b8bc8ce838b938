#include "sim/collective/placed_collective.hpp"

#include <set>

#include "sim/platform/placed_fabric.hpp"
#include "sim/plugin/collective.hpp"
#include "sim/units/index.hpp"

namespace linkcast::collective {
namespace {

/// The forecast is of the first nodes of a cluster: these come first, then all others.
std::vector<int> order_of(const std::vector<int>& nodes, int all) {
  std::vector<int> order = nodes;
  const std::set<int> first(nodes.begin(), nodes.end());
  for (int node = 0; node < all; ++node)
    if (first.count(node) == 0) order.push_back(node);
  return order;
}

/// Key of the cluster of one of the reordered cluster.
int key_in(const Cluster& cluster, int key, const std::vector<int>& order) {
  const int of_node = cluster.key(1, 0), first_engine = cluster.first_engine_key();
  if (key < cluster.key_of_fabric_link(0)) return cluster.key(order[at(key / of_node)], key % of_node);
  if (key < first_engine) return key;
  const int card = (key - first_engine) / 2, nics = cluster.nics();
  return cluster.key_of_engine(cluster.endpoint(order[at(card / nics)], card % nics), (key - first_engine) % 2 == 0);
}

}  // namespace

std::string usual_library_across(const Calibration& calibration) {
  const RingLibrary* rings = libraries().get(calibration.default_library).rings();
  return rings != nullptr && rings->spans_nodes() ? calibration.default_library : "nccl-2.7";
}

activities::Plan placed_collective(catalogue::Catalogue& catalogue, const std::string& platform_id,
                                   const PlacedCollective& asked, const PlacedNodes& where) {
  const Cluster& cluster = catalogue.cluster(platform_id);
  const std::string library =
      asked.library.empty() ? usual_library_across(cluster.node().calibration()) : asked.library;
  const std::vector<int> order = order_of(where.nodes, cluster.nodes());
  const std::unique_ptr<Cluster> placed = placed_cluster(cluster, order);
  const int nodes = static_cast<int>(where.nodes.size());
  CollectiveJob job{*placed,
                    libraries().get(library),
                    catalogue.communicator_across(platform_id, library, nodes, where.gpus),
                    collectives().get(asked.op),
                    asked.op,
                    asked.size_B};
  job.calls = asked.calls;
  activities::Plan plan = forecast_to_share(job, catalogue.solver("fluid"));
  for (Activity& flow : plan.activities)
    for (Use& use : flow.uses)
      if (!activities::is_own_limit(use.constraint)) use.constraint = key_in(cluster, use.constraint, order);
  for (activities::OwnLimit& limit : plan.own_limits) limit.key = key_in(cluster, limit.key, order);
  return plan;
}

}  // namespace linkcast::collective
