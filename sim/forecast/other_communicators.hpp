#pragma once
// Key `with` of a query: collectives of other communicators that start at the same moment as the one asked for.
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/forecast/placed_collective.hpp"

namespace linkcast::collective {

/// Entries {op, size_B or sizes_B, gpus, library, nodes}; whatever else `first` says holds for all of them.
/// @param first  the job that is asked for: its library and its nodes where an entry names none
/// @throws InputError  nodes that the machine lacks
std::vector<PlacedJob> read_others(const catalogue::Machine& machine, const PlacedCollective& first, int first_nodes,
                                   ObjectReader& r);

/// The machine that these share: the node, or the cluster as soon as one of them is not on its first node alone.
const Cluster& shared_machine(const catalogue::Machine& machine, int first_nodes, const std::vector<PlacedJob>& others);

}  // namespace linkcast::collective
