#pragma once
// What runs on the nodes of a cluster, as their scheduler has told it.
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "sim/base/object_reader.hpp"

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

}  // namespace linkcast::serve
