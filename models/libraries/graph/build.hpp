#pragma once
#include "models/libraries/graph/node_model.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/machine/communicator.hpp"

namespace linkcast::graph {

/// Searches rings and trees over the members and says in one sentence why they are what they are.
/// @param gpus  GPU numbers in rank order. @throws InputError  fewer than 2, unknown or given twice
Communicator build_communicator(const Version& version, const Platform& platform, const std::vector<int>& gpus);

/// The parts in one node of rings and trees over several: each begins and ends at a NIC.
/// @param gpus  as above, or one. @param nics  by number. @throws InputError  as above
Communicator build_part(const Version& version, const Platform& platform, const std::vector<int>& gpus,
                        const std::vector<GraphNic>& nics, const ExitSettings& exits);

}  // namespace linkcast::graph
