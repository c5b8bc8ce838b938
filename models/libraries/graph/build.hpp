#pragma once
#include "models/libraries/graph/version.hpp"
#include "sim/platform/cluster.hpp"
#include "sim/plugin/communicator.hpp"

namespace linkcast::graph {

/// Searches rings and trees over the members and says in one sentence why they are what they are.
/// @param gpus  GPU numbers in rank order. @throws InputError  fewer than 2, unknown or given twice
Communicator build_communicator(const Version& version, const Platform& platform, const std::vector<int>& gpus);

}  // namespace linkcast::graph
