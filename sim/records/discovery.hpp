#pragma once
// What a machine says about itself: the answers of CUDA, NVML and sysfs that linkcast-bench writes down.
#include <string>
#include <vector>

namespace linkcast {

/// The far end of one active NVLink.
struct DiscoveredLink {
  std::string kind;  ///< gpu, npu, switch or unknown
  std::string pci;   ///< bus id; empty if the driver hides it
};

struct DiscoveredGpu {
  std::string model, pci;
  int sm = 0;                               ///< compute capability x 10
  int numa_node = -1;                       ///< -1: not known
  std::vector<std::string> pci_path;        ///< bridges from the root port down, the GPU last
  int pcie_generation = 0, pcie_width = 0;  ///< the most that GPU and slot can do; 0: not known
  std::vector<DiscoveredLink> nvlinks;
};

/// May `source` access the memory of `target`?
struct DiscoveredPair {
  int source = 0, target = 0;
  bool peer_access = false, native_atomics = false;
};

struct Discovery {
  std::string id;
  std::string cpu;
  int numa_nodes = 1;
  std::vector<DiscoveredGpu> gpus;  ///< in number order
  std::vector<DiscoveredPair> pairs;
  int waived = 0;  ///< points that the machine could not answer
};

/// Reads schema "discovery/1". The record does not count NUMA nodes: numa_nodes is one more than the highest that a GPU
/// names, at least 1.
/// @throws InputError
Discovery read_discovery(const std::string& path);

}  // namespace linkcast
