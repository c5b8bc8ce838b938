#pragma once
// The double binary tree between nodes: two trees in which every node is an inner one at most once.
#include <vector>

namespace linkcast {

struct BinaryTree {
  int root = 0;
  std::vector<int> parent;                 ///< per node; -1 of the root
  std::vector<std::vector<int>> children;  ///< per node, at most two
};

/// @param nodes  at least 2. @param which  0: node r hangs below r with its lowest set bit moved up; 1: the same trees
///        mirrored (even numbers of nodes) or shifted by one node (odd)
/// @source  Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth broadcast, reduction and scan, Parallel
///          Computing 35 (2009); NCCL's form: models/libraries/SOURCES.md, "Graph era: several nodes"
BinaryTree double_binary_tree(int nodes, int which);

}  // namespace linkcast
