#include "sim/collective/collective_ranks.hpp"

#include <numeric>

#include "sim/activities/request.hpp"
#include "sim/collective/placed_collective.hpp"

namespace linkcast::collective {

CollectiveRanks read_ranks(catalogue::Catalogue& catalogue, const std::string& platform_id, ObjectReader& r) {
  if (!r.has("nodes")) {
    const Cluster& machine = catalogue.lone_node(platform_id);
    return {machine, 1, activities::read_gpus(r, machine.node(), 2)};
  }
  const Cluster& machine = catalogue.cluster(platform_id);
  const int nodes = r.required<int>("nodes"), per_node = r.required<int>("gpus_per_node");
  if (nodes < 2 || nodes > machine.nodes())
    r.fail("nodes",
           "must be 2 to " + std::to_string(machine.nodes()) + ", as many as the fabric joins; one: give gpus");
  if (per_node < 1 || per_node > machine.node().gpu_count())
    r.fail("gpus_per_node", "must be 1 to " + std::to_string(machine.node().gpu_count()));
  std::vector<int> gpus(static_cast<std::size_t>(per_node));
  std::iota(gpus.begin(), gpus.end(), 0);
  return {machine, nodes, std::move(gpus)};
}

std::string read_library(const CollectiveRanks& ranks, ObjectReader& r) {
  const Calibration& calibration = ranks.machine.node().calibration();
  const auto named = r.optional<std::string>("library");
  if (named) return *named;
  return ranks.one_node() ? calibration.default_library : usual_library_across(calibration);
}

const Communicator& communicator_of(catalogue::Catalogue& catalogue, const std::string& platform_id,
                                    const std::string& library, const CollectiveRanks& ranks) {
  return ranks.one_node() ? catalogue.communicator(platform_id, library, ranks.gpus)
                          : catalogue.communicator_across(platform_id, library, ranks.nodes, ranks.gpus);
}

}  // namespace linkcast::collective
