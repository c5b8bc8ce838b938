#include "models/algorithms/tree_edges.hpp"

#include <algorithm>
#include <functional>

#include "sim/base/index.hpp"

namespace linkcast {
namespace {

/// Largest sum of `edge` over the nodes from any leaf to the root.
double deepest(const BinaryTree& tree, const std::function<double(int)>& edge) {
  double most = 0;
  for (int node = 0; node < static_cast<int>(tree.parent.size()); ++node) {
    if (!tree.children[at(node)].empty()) continue;
    double sum = 0;
    for (int above = node; tree.parent[at(above)] >= 0; above = tree.parent[at(above)]) sum += edge(above);
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

TreeEnd child_end(const Tree& chain, int node) { return {{node, chain.order.front()}, chain.first}; }

TreeEnd parent_end(const Communicator& communicator, const Tree& chain, const BinaryTree& tree, int child) {
  const int parent = tree.parent[at(child)];
  const auto& children = tree.children[at(parent)];
  const bool second = children.size() > 1 && children.back() == child && !communicator.plain_trees;
  if (second && chain.order.size() > 1) return {{parent, chain.order[1]}, chain.second};
  return child_end(chain, parent);
}

Tree chain_of(int gpu) { return {{gpu}, {}, 1}; }

double tree_delay_s(const Cluster& cluster, const Communicator& communicator, const Tree& chain, int which,
                    const activities::HopDelay& delay_s) {
  const BinaryTree tree = double_binary_tree(communicator.nodes, which);
  return deepest(tree, [&](int node) {
    const TreeEnd here = child_end(chain, node), above = parent_end(communicator, chain, tree, node);
    return delay_s(activities::endpoint_of(cluster, here.gpu, here.way),
                   activities::endpoint_of(cluster, above.gpu, above.way));
  });
}

int tree_depth(int nodes, int which) {
  return static_cast<int>(deepest(double_binary_tree(nodes, which), [](int) { return 1; }));
}

}  // namespace linkcast
