#pragma once
// Of several nodes the one on which a job of one node is fastest.
#include <string>
#include <vector>

#include "sim/place/place.hpp"

namespace linkcast::placement {

/// A node that may take the job.
struct NodeCandidate {
  std::string name;
  std::string place{};              ///< JSON pointer that errors name
  Json use{};                       ///< {platform, busy?, with?}
  std::string refused{};            ///< why it takes no job; then there is no use
  catalogue::MachinePtr machine{};  ///< null: the platform that `use` names
};

/// No candidate has so many GPUs free now: it may have later.
struct NoRoom : InputError {
  using InputError::InputError;
};

/// Result for one candidate.
struct TriedNode {
  std::string node;
  double time_s = 0;      ///< of the best placement there
  std::string refused{};  ///< why it has none; then there is no time
};

struct BestNode {
  NodeCandidate node;
  double time_s = 0;
  int free = 0;        ///< GPUs before the job
  PlaceResult placed;  ///< there
  std::vector<TriedNode> tried{};
};

/// [{node, time_s} or {node, refused}]
Json to_json(const std::vector<TriedNode>& tried);

/// @param query  keys job, ranks, objective?, library?, top?: as of a placement on one node
/// @param name  stands for the file in errors
/// @returns  of nodes as fast as each other the one with the fewest free GPUs, then the first
/// @throws InputError, NoRoom
BestNode best_node(catalogue::Catalogue& catalogue, const Json& query, const std::vector<NodeCandidate>& candidates,
                   const std::string& name, PlacementMemory& memory);

}  // namespace linkcast::placement
