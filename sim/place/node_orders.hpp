#pragma once
// Which of the free nodes a job gets, by rules that know the fabric's groups but forecast nothing.
#include <cstdint>
#include <vector>

#include "sim/place/fabric_groups.hpp"

namespace linkcast::placement {

/// Nodes in rank order. Of each: @param free  per node, at least `count` are
std::vector<int> first_nodes(const std::vector<char>& free, int count);
/// As few groups of each level as can be, the fullest that hold it; of one group that holds the job the one that it
/// fills best.
std::vector<int> packed_nodes(const FabricGroups& groups, const std::vector<char>& free, int count);
/// From each group of the farthest level in turn, in rank order by group.
std::vector<int> spread_nodes(const FabricGroups& groups, const std::vector<char>& free, int count);
/// In an order that follows from the seed alone.
std::vector<int> shuffled(std::vector<int> numbers, std::uint64_t seed);
std::vector<int> random_nodes(const std::vector<char>& free, int count, std::uint64_t seed);

}  // namespace linkcast::placement
