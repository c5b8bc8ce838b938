#pragma once
// Collectives over several nodes of a cluster.
#include <string>

#include "sim/forecast/catalogue.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast {

/// Nodes, and the first GPUs of each.
struct AcrossNodes {
  int nodes = 2, gpus_per_node = 1;
};
/// Keys nodes and gpus_per_node. @throws InputError  more than the cluster has
AcrossNodes read_nodes(const Cluster& cluster, ObjectReader& r);
/// Key library, else that of the machine's time; where it is modelled for one node only, the oldest that is not.
std::string library_across(const Calibration& calibration, ObjectReader& r);

/// Keys nodes and gpus_per_node instead of gpus: the first GPUs of the first nodes.
Json cluster_collective_answer(Catalogue& catalogue, const std::string& platform_id, Solver& solver, ObjectReader& r);

}  // namespace linkcast
