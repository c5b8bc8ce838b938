#pragma once
// Logs of several sets of nodes of one cluster: the node that all slow ones share. No forecast is needed.
#include <string>
#include <vector>

#include "validate/diagnosis/fleet.hpp"
#include "validate/diagnosis/verdict.hpp"

namespace linkcast::diagnosis {

/// A node that makes every log slow that it is in, and none of the others is slow by it.
struct SlowNode {
  std::vector<std::string> hosts;     ///< one, or those that no log separates
  std::string part;                   ///< everything, large sizes, small sizes
  double times = 1;                   ///< slower than logs without it
  std::size_t with = 0, without = 0;  ///< logs
};

struct NodeMember {
  std::string name;
  std::vector<std::string> hosts;
  double times = 1;  ///< over the logs that no slow node is in, in the middle
  bool slow = false;
  bool apart = false;  ///< slow though each of its nodes is in another log that is not: the route between them
};

struct NodeComparison {
  std::vector<NodeMember> members;
  std::vector<SlowNode> slow;
  double usual = 1;  ///< logs differ by up to so many times
  Verdict verdict = Verdict::kNormal;
};

/// Whether logs name nodes, two at least each, and not all the same ones.
bool of_other_nodes(const std::vector<FleetLog>& logs);

/// @throws InputError  fewer than three logs, or nothing in common
NodeComparison compare_nodes(const std::vector<FleetLog>& logs);

Json to_json(const NodeComparison& nodes);
std::string text_of(const NodeComparison& nodes);

}  // namespace linkcast::diagnosis
