#pragma once
// The one path the library considers between each pair of members, with its class and width.
#include <optional>
#include <vector>

#include "models/libraries/graph/node_model.hpp"

namespace linkcast::graph {

struct Path {
  std::vector<int> links;  ///< of the node model, in order
  double width = 0;        ///< GB/s of the narrowest link
  PathClass path_class = PathClass::kNet;
  bool peer = true;    ///< GPUs: false if the data go through host memory
  int relay = -1;      ///< GPUs: the member in between, of class NVB; else -1
  bool found = false;  ///< there is a path
};

/// Paths between members, traffic of pairs without peer access diverted over the CPU next to the target.
/// @source  models/libraries/SOURCES.md, "Graph era: paths"
class PathTable {
 public:
  /// @param user_limit  worst class of peer access that its user allows; nullopt: the version's own limit
  PathTable(const NodeModel& model, const SearchTraits& traits, bool driver_allows_pcie_peers,
            std::optional<PathClass> user_limit = std::nullopt);

  [[nodiscard]] int gpus() const { return gpus_; }
  [[nodiscard]] const Path& at(int from, int to) const { return paths_[index(from, to)]; }
  /// Best and worst class and greatest width over all pairs of different members.
  [[nodiscard]] PathClass best_class() const;
  [[nodiscard]] PathClass worst_class() const;
  [[nodiscard]] double greatest_width() const;

 private:
  [[nodiscard]] std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(to);
  }
  int gpus_;
  std::vector<Path> paths_;
};

}  // namespace linkcast::graph
