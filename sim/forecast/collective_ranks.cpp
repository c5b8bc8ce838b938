#include "sim/forecast/collective_ranks.hpp"

#include "sim/base/index.hpp"
#include "sim/forecast/placed_collective.hpp"
#include "sim/plan/request.hpp"

namespace linkcast::collective {

std::vector<int> read_gpus_of_each(ObjectReader& r, const Platform& node, int least) {
  if (r.has("gpus")) {
    if (r.has("gpus_per_node")) r.fail("gpus_per_node", "give gpus or gpus_per_node, not both");
    return activities::read_gpus(r, node, least);
  }
  const int most = node.gpu_count(), per_node = r.optional<int>("gpus_per_node").value_or(most);
  if (per_node < least || per_node > most)
    r.fail("gpus_per_node", "must be " + std::to_string(least) + " to " + std::to_string(most));
  return first_numbers(per_node);
}

CollectiveRanks read_ranks(const catalogue::Machine& machine, ObjectReader& r) {
  const int nodes = r.optional<int>("nodes").value_or(1);
  if (nodes == 1) {
    const Platform& node = machine.platform();
    return {machine.lone_node(), 1, r.has("nodes") ? read_gpus_of_each(r, node, 2) : activities::read_gpus(r, node, 2)};
  }
  const Cluster& cluster = machine.cluster();
  if (nodes < 1 || nodes > cluster.nodes())
    r.fail("nodes", "must be 1 to " + std::to_string(cluster.nodes()) +
                        ", as many as the fabric joins; edit 'network NAME:nodes=N' makes a larger one");
  return {cluster, nodes, read_gpus_of_each(r, cluster.node(), 1)};
}

std::string read_library(const CollectiveRanks& ranks, ObjectReader& r) {
  const Calibration& calibration = ranks.machine.node().calibration();
  const auto named = r.optional<std::string>("library");
  if (named) return *named;
  return ranks.one_node() ? calibration.default_library : usual_library_across(calibration);
}

void read_pxn(const std::string& library, CollectiveRanks& ranks, ObjectReader& r) {
  const auto wanted = r.optional<bool>("pxn");
  if (!wanted) return;
  if (ranks.one_node()) r.fail("pxn", "is of several nodes");
  const RingLibrary* rings = libraries().get(library).rings();
  if (rings == nullptr || !rings->has_pxn()) r.fail("pxn", library + " has none: NCCL has it from 2.12 on");
  ranks.pxn = *wanted;
}

std::shared_ptr<const Communicator> communicator_of(const catalogue::Machine& machine, const std::string& library,
                                                    const CollectiveRanks& ranks) {
  return machine.communicator(library, ranks.gpus, ranks.nodes, ranks.pxn);
}

}  // namespace linkcast::collective
