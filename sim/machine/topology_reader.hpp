#pragma once
// Files that tell a communication library what a machine looks like.
#include <string>
#include <utility>
#include <vector>

#include "sim/machine/platform.hpp"
#include "sim/machine/registry.hpp"

namespace linkcast {

struct ReadTopology {
  Topology topology;
  /// GPUs of the machine's own that the file does not list, each with one that it lists without the NVLinks back.
  std::vector<std::pair<int, int>> one_way{};
};

class TopologyReader {
 public:
  virtual ~TopologyReader() = default;
  /// The machine of the file, as a library sees it that runs on `machine`: it adds what the file leaves out.
  /// GPU k is GPU k of the machine.
  /// @throws InputError  file, line and element of what cannot be read, or does not fit the machine
  [[nodiscard]] virtual ReadTopology read(const std::string& path, const Platform& machine) const = 0;
};

/// By format: nccl-xml.
Registry<TopologyReader>& topology_readers();

}  // namespace linkcast
