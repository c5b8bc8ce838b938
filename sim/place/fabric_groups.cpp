#include "sim/place/fabric_groups.hpp"

#include <algorithm>

#include "sim/base/stop.hpp"

namespace linkcast::placement {

FabricGroups::FabricGroups(const Cluster& cluster) {
  const Fabric& fabric = cluster.fabric();
  // The farthest level joins all; without it a fabric that knows one distance has one group.
  const int levels = std::max(1, static_cast<int>(fabric.distances().size()) - 1);
  for (int level = 0; level < levels; ++level) {
    std::vector<int> first_of;  // of each group
    std::vector<int>& group = groups_.emplace_back();
    for (int node = 0; node < cluster.nodes(); ++node) {
      work::look();
      const auto near = [&](int other) {
        return fabric.distance(cluster.endpoint(other, 0), cluster.endpoint(node, 0)) <= level;
      };
      const auto known = std::find_if(first_of.begin(), first_of.end(), near);
      group.push_back(static_cast<int>(known - first_of.begin()));
      if (known == first_of.end()) first_of.push_back(node);
    }
  }
}

}  // namespace linkcast::placement
