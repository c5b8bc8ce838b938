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
  int relay = -1;      ///< the member in between, of class NVB (GPUs) or PXN (to a NIC); else -1
  bool found = false;  ///< there is a path
};

/// What the machine allows beside its wiring.
struct Access {
  bool pcie_peers = true;  ///< GPUs of one socket access each other over PCIe
  bool nics = true;        ///< NICs access GPU memory
  bool proxies = true;     ///< nobody forbade PXN
  /// Worst class of peer access that its user allows; nullopt: the version's own limit.
  std::optional<PathClass> user_limit{};
  std::optional<PathClass> nic_limit{};  ///< the same of NICs' access to GPU memory
  int cross_nic = 2;                     ///< ExitSettings::cross_nic
};

/// Paths between members, and between members and NICs; traffic of pairs without peer access is diverted over the CPU
/// next to the target, that of NICs which do not reach a GPU's memory over the CPU next to the GPU.
/// @source  models/libraries/SOURCES.md, "Graph era: paths"
class PathTable {
 public:
  PathTable(const NodeModel& model, const SearchTraits& traits, const Access& access);

  [[nodiscard]] int gpus() const { return gpus_; }
  [[nodiscard]] int nics() const { return nics_; }
  [[nodiscard]] bool proxies() const { return proxies_; }
  [[nodiscard]] int cross_nic() const { return cross_nic_; }
  [[nodiscard]] const Path& at(int from, int to) const { return paths_[index(from, to)]; }
  /// What a member sends out by a NIC; it may pass another member (class PXN).
  [[nodiscard]] const Path& to_nic(int gpu, int nic) const { return to_nic_[nic_index(gpu, nic)]; }
  /// What a member receives. `peer` is false where it goes through host memory.
  [[nodiscard]] const Path& from_nic(int nic, int gpu) const { return from_nic_[nic_index(gpu, nic)]; }
  /// NICs next to a member, the one that it takes first first; several members next to one NIC take turns.
  [[nodiscard]] const std::vector<int>& local_nics(int gpu) const { return local_nics_[static_cast<std::size_t>(gpu)]; }
  /// Members next to a NIC.
  [[nodiscard]] const std::vector<int>& local_gpus(int nic) const { return local_gpus_[static_cast<std::size_t>(nic)]; }
  /// Greatest width of a path between a member and a NIC.
  [[nodiscard]] double greatest_nic_width() const;
  /// Best and worst class and greatest width over all pairs of different members.
  [[nodiscard]] PathClass best_class() const;
  [[nodiscard]] PathClass worst_class() const;
  [[nodiscard]] double greatest_width() const;
  /// Worst class up to `limit` that occurs between members, and between members and NICs; kLoc: none does.
  [[nodiscard]] PathClass worst_within(PathClass limit) const;
  [[nodiscard]] PathClass worst_nic_within(PathClass limit) const;

 private:
  [[nodiscard]] std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(to);
  }
  [[nodiscard]] std::size_t nic_index(int gpu, int nic) const {
    return static_cast<std::size_t>(gpu) * static_cast<std::size_t>(nics_) + static_cast<std::size_t>(nic);
  }
  using All = std::vector<std::vector<Path>>;  ///< of the node model, by the end and the start
  void find_gpu_paths(const NodeModel& model, const SearchTraits& traits, const Access& access, const All& to_node);
  void find_nic_paths(const NodeModel& model, const SearchTraits& traits, const Access& access, const All& to_node);
  void find_neighbours(const NodeModel& model);
  void pass_through_gpus();

  int gpus_, nics_;
  bool proxies_;
  int cross_nic_;
  std::vector<Path> paths_, to_nic_, from_nic_;
  std::vector<std::vector<int>> local_nics_, local_gpus_;
};

}  // namespace linkcast::graph
