#pragma once
// Structure of this node as the CUDA runtime, NVML and sysfs describe it, and the topology/1 record made from it.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "calibrate/bench/nvml.hpp"

namespace linkcast::bench {

using Json = nlohmann::ordered_json;

struct GpuFacts {
  std::string model, pci;
  int sm = 0, multiprocessors = 0, copy_engines = 0;
  int numa_node = -1;                 ///< -1: not known
  std::vector<std::string> pci_path;  ///< bridges from the root port down, the GPU last
  Nvml::Pcie pcie;                    ///< zeros: not known
  std::vector<NvlinkEnd> nvlinks;
};

struct PairFacts {
  int device = 0, owner = 0;
  bool peer_access = false, native_atomics = false;
  int performance_rank = 0;  ///< of the CUDA runtime, 0 is best
};

struct MachineFacts {
  std::string cpu;
  int numa_nodes = 1;
  std::vector<GpuFacts> gpus;
  std::vector<PairFacts> pairs;
};

MachineFacts gather_facts(int gpus);
const char* to_text(NvlinkEnd::Kind kind);

/// A pure function of the facts.
Json make_topology(const MachineFacts& facts, const std::string& name);

}  // namespace linkcast::bench
