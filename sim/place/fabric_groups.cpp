#include "sim/place/fabric_groups.hpp"

#include <algorithm>
#include <map>

#include "sim/base/limits.hpp"
#include "sim/base/random.hpp"

namespace linkcast::placement {
namespace {

std::vector<int> all_free(const std::vector<char>& free) {
  std::vector<int> nodes;
  for (std::size_t node = 0; node < free.size(); ++node)
    if (free[node] != 0) nodes.push_back(static_cast<int>(node));
  return nodes;
}

std::map<int, std::vector<int>> by_group(const FabricGroups& groups, int level, const std::vector<int>& nodes) {
  std::map<int, std::vector<int>> members;
  for (const int node : nodes) members[groups.group(level, node)].push_back(node);
  return members;
}

/// Of these nodes, by groups of a level and of the nearer ones inside them.
std::vector<int> packed(const FabricGroups& groups, int level, std::vector<int> nodes, std::size_t count) {
  if (level < 0) {
    nodes.resize(count);
    return nodes;
  }
  std::vector<int> taken;
  std::map<int, std::vector<int>> open = by_group(groups, level, nodes);
  while (taken.size() < count) {
    const std::size_t left = count - taken.size();
    // The smallest group that holds what is left, else the largest one.
    auto best = open.begin();
    for (auto one = open.begin(); one != open.end(); ++one) {
      const std::size_t size = one->second.size(), best_size = best->second.size();
      const bool fits = size >= left, best_fits = best_size >= left;
      if (fits != best_fits ? fits : fits ? size < best_size : size > best_size) best = one;
    }
    const auto part = packed(groups, level - 1, best->second, std::min(left, best->second.size()));
    taken.insert(taken.end(), part.begin(), part.end());
    open.erase(best);
  }
  return taken;
}

}  // namespace

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

std::vector<int> first_nodes(const std::vector<char>& free, int count) {
  std::vector<int> nodes = all_free(free);
  nodes.resize(static_cast<std::size_t>(count));
  return nodes;
}

std::vector<int> packed_nodes(const FabricGroups& groups, const std::vector<char>& free, int count) {
  return packed(groups, groups.levels() - 1, all_free(free), static_cast<std::size_t>(count));
}

std::vector<int> spread_nodes(const FabricGroups& groups, const std::vector<char>& free, int count) {
  auto open = by_group(groups, groups.levels() - 1, all_free(free));
  std::vector<int> taken;
  for (std::size_t turn = 0; static_cast<int>(taken.size()) < count; ++turn)
    for (const auto& [group, nodes] : open)
      if (turn < nodes.size() && static_cast<int>(taken.size()) < count) taken.push_back(nodes[turn]);
  std::sort(taken.begin(), taken.end());  // neighbours in rank stay neighbours in the group
  return taken;
}

std::vector<int> shuffled(std::vector<int> numbers, std::uint64_t seed) {
  for (std::size_t i = numbers.size(); i > 1; --i) {
    seed = joined(seed, i);
    std::swap(numbers[i - 1], numbers[seed % i]);
  }
  return numbers;
}

std::vector<int> random_nodes(const std::vector<char>& free, int count, std::uint64_t seed) {
  std::vector<int> nodes = shuffled(all_free(free), seed);
  nodes.resize(static_cast<std::size_t>(count));
  return nodes;
}

}  // namespace linkcast::placement
