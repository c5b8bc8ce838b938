#pragma once
// Which nodes of a cluster are near each other: on one switch, in one group, ...; and which of the free nodes a job
// gets, by rules that know these groups but forecast nothing.
#include <cstdint>
#include <vector>

#include "sim/machine/cluster.hpp"

namespace linkcast::placement {

class FabricGroups {
 public:
  explicit FabricGroups(const Cluster& cluster);

  /// Kinds of nearness, nearest first: nodes of one group of level 0 share a switch, say. At least 1.
  [[nodiscard]] int levels() const { return static_cast<int>(groups_.size()); }
  /// Number of the group of a level that a node is in; numbers are in the order of the lowest node.
  [[nodiscard]] int group(int level, int node) const {
    return groups_[static_cast<std::size_t>(level)][static_cast<std::size_t>(node)];
  }
  [[nodiscard]] int nodes() const { return static_cast<int>(groups_.front().size()); }

 private:
  std::vector<std::vector<int>> groups_;  ///< per level and node
};

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
