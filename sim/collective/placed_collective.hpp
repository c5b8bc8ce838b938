#pragma once
// A collective on nodes wherever they are.
#include "sim/catalogue/catalogue.hpp"
#include "sim/collective/cluster_collective.hpp"

namespace linkcast::collective {

/// Which GPUs of which nodes of a cluster, in rank order; the same GPUs of each.
struct PlacedNodes {
  std::vector<int> nodes, gpus;
};

/// Its flows on the links of these nodes. @param library  empty: usual_library_across()
/// @returns  constraints are keys of the platform's cluster
ClusterFlows placed_collective_flows(catalogue::Catalogue& catalogue, const std::string& platform_id,
                                     const std::string& library, const std::string& op, double size_B,
                                     const PlacedNodes& where, int calls);

}  // namespace linkcast::collective
