#pragma once
// Where to put a job: the answer to a scheduler. GPUs of one node are searched by symmetry classes (node_search.hpp),
// whole nodes by groups of the fabric (cluster_search.hpp); request and result are the same.
#include <optional>
#include <string>
#include <vector>

#include "sim/place/objective.hpp"
#include "sim/place/placement_memory.hpp"

namespace linkcast::placement {

/// Times of a neighbour, seconds.
struct NeighbourTimes {
  std::string job;
  std::vector<int> gpus{}, nodes{};  ///< in rank order: one of both
  std::vector<std::string> names{};  ///< of its nodes
  double alone_s = 0;                ///< over nodes: beside the other neighbours
  std::optional<double> time_s{};    ///< beside the job; nothing: the objective did not ask
  bool operator==(const NeighbourTimes&) const = default;
};

/// GPUs or nodes that the job may get, and what it takes there.
struct Placement {
  std::vector<int> gpus{}, nodes{};          ///< in rank order: one of both
  std::vector<std::string> names{};          ///< of the nodes, where they have some
  double time_s = 0, low_s = 0, high_s = 0;  ///< with a 90 % interval; without, where only times are compared
  double alone_s = 0;                        ///< without neighbours
  double regret = 0;  ///< time over the best one's, less 1; with neighbours in the objective what they lose counts too
  std::vector<NeighbourTimes> neighbours{};
  std::string rule{};         ///< over nodes: how they were found
  std::string why{};          ///< in words
  std::size_t alike = 0;      ///< on one node: number of its class
  std::int64_t sets = 0;      ///< of a class: so many sets are alike
  std::vector<int> groups{};  ///< over nodes: groups of each level that they are in, nearest first
  bool operator==(const Placement&) const = default;
};

/// A leaf switch, and how many of the job's nodes it has.
struct LeafNodes {
  std::string name;
  int nodes = 0;
  bool operator==(const LeafNodes&) const = default;
};

struct PlaceResult {
  std::string job;  ///< in words
  int ranks = 0;
  PlaceObjective objective = PlaceObjective::kTime;
  Placement best;
  std::vector<std::string> bottleneck{}, warnings{};
  std::vector<Placement> placements{};  ///< the `top` best; of those as good as each other the one that leaves most
  Placement first_free{};               ///< what one gets without choosing: the lowest numbers
  bool exact = false;                   ///< every placement was looked at
  long evaluated = 0;                   ///< forecasts

  /// Only on one node.
  struct Sets {
    std::vector<Placement> classes{};  ///< sets of GPUs that are as good as each other, best first
    Placement worst{};       ///< of those that stand for their class, as first_free in the order of their numbers
    double mean_regret = 0;  ///< of a set by chance, in its best order
    std::int64_t sets = 0;
    bool operator==(const Sets&) const = default;
  };
  std::optional<Sets> one_node{};

  /// Only over nodes.
  struct Nodes {
    int gpus_each = 0;
    std::vector<LeafNodes> switches{};  ///< of named nodes
    double bound_s = 0;  ///< bytes over rate of what every placement crosses; 0: of a trace none is known
    bool operator==(const Nodes&) const = default;
  };
  std::optional<Nodes> over_nodes{};
  bool operator==(const PlaceResult&) const = default;
};

/// @throws InputError  the job runs nowhere there
PlaceResult place(catalogue::Catalogue& catalogue, const PlaceRequest& request);
/// The same answer, with what earlier ones have left, and left to later ones.
PlaceResult place(catalogue::Catalogue& catalogue, const PlaceRequest& request, PlacementMemory& memory);

}  // namespace linkcast::placement
