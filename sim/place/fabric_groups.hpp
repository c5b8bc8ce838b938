#pragma once
// Which nodes of a cluster are near each other: on one switch, in one group, ...
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

}  // namespace linkcast::placement
