#include "sim/machine/binary_tree.hpp"

#include <cstddef>

namespace linkcast {
namespace {

/// Parent of node r in the first tree, -1 of node 0.
int first_parent(int r, int nodes) {
  if (r == 0) return -1;
  const int bit = r & -r;
  const int up = (r ^ bit) | (bit << 1);
  return up < nodes ? up : r ^ bit;
}

}  // namespace

BinaryTree double_binary_tree(int nodes, int which) {
  const bool shifted = nodes % 2 == 1;  // a mirror would keep the inner nodes of an odd number
  const auto renamed = [&](int r) { return which == 0 ? r : shifted ? (r + 1) % nodes : nodes - 1 - r; };
  BinaryTree tree;
  tree.root = renamed(0);
  tree.parent.assign(static_cast<std::size_t>(nodes), -1);
  tree.children.resize(static_cast<std::size_t>(nodes));
  for (int r = 1; r < nodes; ++r) {
    const int up = renamed(first_parent(r, nodes));
    tree.parent[static_cast<std::size_t>(renamed(r))] = up;
    tree.children[static_cast<std::size_t>(up)].push_back(renamed(r));
  }
  return tree;
}

}  // namespace linkcast
