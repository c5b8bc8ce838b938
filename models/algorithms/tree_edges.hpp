#pragma once
// Double binary trees between nodes: who talks to whom on each edge, and the longest way from a leaf to the root.
#include "sim/machine/binary_tree.hpp"
#include "sim/plan/channel_route.hpp"

namespace linkcast {

/// A GPU at one end of an edge and its way to the NIC.
struct TreeEnd {
  ClusterGpu gpu;
  const NicWay& way;
};

/// The end at the child: the first GPU of the node's chain.
TreeEnd child_end(const Tree& chain, int node);
/// The GPU of the parent that a node talks to: of two children, the second one's is the next in the chain.
TreeEnd parent_end(const Communicator& communicator, const Tree& chain, const BinaryTree& tree, int child);

/// A chain of that GPU alone.
Tree chain_of(int gpu);

/// Largest sum of `delay_s` over the edges from any leaf to the root, seconds.
/// @param which  0 or 1: which of the two trees between the nodes
double tree_delay_s(const Cluster& cluster, const Communicator& communicator, const Tree& chain, int which,
                    const activities::HopDelay& delay_s);
/// Edges from the leaf that is deepest to the root.
int tree_depth(int nodes, int which);

}  // namespace linkcast
