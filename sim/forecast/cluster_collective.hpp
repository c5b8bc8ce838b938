#pragma once
// Collectives over several nodes of a cluster.
#include "sim/forecast/catalogue.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast {

/// Keys nodes and gpus_per_node instead of gpus: the first GPUs of the first nodes.
Json cluster_collective_answer(Catalogue& catalogue, const std::string& platform_id, Solver& solver, ObjectReader& r);

}  // namespace linkcast
