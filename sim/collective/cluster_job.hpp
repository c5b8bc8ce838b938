#pragma once
// One collective over several nodes, whether rings and trees run it or messages.
#include <string>

#include "sim/collective/collective_job.hpp"
#include "sim/platform/cluster.hpp"

namespace linkcast::collective {

// The library's own figure for a hop between nodes stands in for one never measured. source: as kTableError of
// collective_cost.cpp
inline constexpr double kNetworkHopError = 0.35;

struct ClusterJob {
  const Cluster& cluster;
  const Library& library;
  const Communicator& communicator;
  const Collective& op;
  std::string op_name;
  double size_B = 0;
  std::string engine{};                 ///< of messages: direct, reduced; empty: reduced where that is exact
  std::string algorithm{}, protocol{};  ///< of rings and trees: empty, or forced
  int calls = kUsualCalls;              ///< that follow each other
  bool keep_busy = false;               ///< of messages: the answer has its busy links
  bool keep_loads = false;              ///< of messages: the answer has what each link carries
  [[nodiscard]] int ranks() const { return communicator.ranks(); }
  [[nodiscard]] const Platform& node() const { return cluster.node(); }
};

}  // namespace linkcast::collective
