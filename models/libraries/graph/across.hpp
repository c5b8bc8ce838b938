#pragma once
#include "models/libraries/graph/version.hpp"
#include "sim/platform/cluster.hpp"
#include "sim/plugin/communicator.hpp"

namespace linkcast::graph {

/// Rings over several equal nodes: those of one node, entered next to a NIC each, with what the library assumes a NIC
/// carries. Trees run over the same chains inside a node.
/// @limits  NICs are not in the search: every NIC next to a member gets its share of the channels
/// @throws InputError  no GPU, more nodes than the fabric has room for
Communicator build_across(const Version& version, const Cluster& cluster, const std::vector<int>& gpus, int nodes);

}  // namespace linkcast::graph
