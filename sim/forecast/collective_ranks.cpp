#include "sim/forecast/collective_ranks.hpp"

#include "sim/base/index.hpp"
#include "sim/forecast/placed_collective.hpp"
#include "sim/plan/request.hpp"
#include "sim/query/key.hpp"
#include "sim/query/shared_keys.hpp"

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
  if (r.has("gpus_per_node") && !r.has("nodes")) r.fail("gpus_per_node", "needs nodes");
  const int nodes = r.optional<int>("nodes").value_or(1);
  if (nodes == 1) return {machine.lone_node(), 1, read_gpus_of_each(r, machine.platform(), 2)};
  const Cluster& cluster = machine.cluster();
  if (nodes < 1 || nodes > cluster.nodes())
    r.fail("nodes", "must be 1 to " + std::to_string(cluster.nodes()) +
                        ", as many as the fabric joins; edit 'network NAME:nodes=" + std::to_string(nodes) +
                        "' makes a larger one, NAME of 'linkcast list networks'");
  return {cluster, nodes, read_gpus_of_each(r, cluster.node(), 1)};
}

std::string read_library(const CollectiveRanks& ranks, ObjectReader& r) {
  const Calibration& calibration = ranks.machine.node().calibration();
  const auto named = r.optional<std::string>("library");
  if (named) return *named;
  return ranks.one_node() ? calibration.default_library : usual_library_across(calibration);
}

void read_exits(const std::string& library, CollectiveRanks& ranks, ObjectReader& r) {
  const RingLibrary* rings = libraries().get(library).rings();
  for (const char* key : {"pxn", "cross_nic", "gdr_level"})
    if (r.has(key) && ranks.one_node()) r.fail(key, "is of several nodes");
  if (r.has("pxn") && (rings == nullptr || !rings->has_pxn()))
    r.fail("pxn", library + " has none: NCCL has it from 2.12 on");
  if (rings == nullptr || !rings->has_exit_settings())
    query::refuse_keys(r, {"cross_nic", "gdr_level"},
                       "is of the search for rings of NCCL from 2.7 on, not of " + library);
  ranks.exits.pxn = r.optional<bool>("pxn").value_or(true);
  constexpr int kDefaultCrossNic = 2;
  ranks.exits.cross_nic = r.optional<int>("cross_nic").value_or(kDefaultCrossNic);
  if (ranks.exits.cross_nic < 0 || ranks.exits.cross_nic > 2) r.fail("cross_nic", "is 0, 1 or 2");
  if (r.has("gdr_level")) ranks.exits.gdr_level = r.choice("gdr_level", query::path_classes());
}

std::shared_ptr<const Communicator> communicator_of(const catalogue::Machine& machine, const std::string& library,
                                                    const CollectiveRanks& ranks) {
  return machine.communicator(library, ranks.gpus, ranks.nodes, ranks.exits);
}

}  // namespace linkcast::collective
