#pragma once
// What runs on the nodes of a cluster, as their scheduler has told it.
// Labels that GPU feature discovery puts on Kubernetes' nodes, and the platform that they are of.
// source: NVIDIA GPU feature discovery, README: nvidia.com/gpu.product (blanks as dashes, "-SHARED" where time slices
// are given away, "-MIG-..." of parts of a GPU), nvidia.com/gpu.count
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/machine/catalogue.hpp"

namespace linkcast::serve {

/// By node name: {platform, busy: [int], with: [{job, gpus}]}. Several threads may use it at once.
class NodeStates {
 public:
  using Nodes = std::map<std::string, Json>;

  /// @param file  where they outlive the program, written at once; empty: they do not. @throws InputError  cannot be
  ///              read or written
  explicit NodeStates(std::string file);

  /// As they are now; does not change.
  [[nodiscard]] std::shared_ptr<const Nodes> all() const;
  /// When it returns, the state is in the file. @throws std::runtime_error  it cannot be written: then nothing
  /// has changed
  void set(const std::string& node, Json state);
  /// @returns  false if there is no such node
  bool forget(const std::string& node);

 private:
  void replace(Nodes nodes);

  std::string file_;
  std::mutex writing_;  ///< held for the time of a write; readers do not wait for it
  mutable std::mutex mutex_;
  std::shared_ptr<const Nodes> nodes_;
};

struct GpuLabels {
  std::string product;
  int count = 0;
};

/// @param served  ids; @param wanted  of several that the labels fit the one to take, if it is among them; may be empty
/// @returns  the one platform with so many such GPUs: those of the very name come before others of the same model
/// @throws InputError  none, or several; the text is for whoever waits for the pod
std::string platform_of_labels(catalogue::Catalogue& catalogue, const std::vector<std::string>& served,
                               const GpuLabels& labels, const std::string& wanted);

}  // namespace linkcast::serve
