#pragma once
#include "models/libraries/graph/version.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/machine/communicator.hpp"

namespace linkcast::graph {

/// Rings and trees over several equal nodes, each of which begins and ends at a NIC.
/// @param proxies  GPUs may send by the NIC of another one (PXN), from the version on that has it
/// @throws InputError  no GPU, more nodes than the fabric has room for
/// @source  models/libraries/SOURCES.md, "Graph era: NICs"
Communicator build_across(const Version& version, const Cluster& cluster, const std::vector<int>& gpus, int nodes,
                          bool proxies);

}  // namespace linkcast::graph
