#pragma once
// What of a machine decides how alike another one is: its GPUs, what joins them, and how they reach their CPU.
#include <string>

#include "sim/machine/topology.hpp"

namespace linkcast::lending {

enum class Join { kNone, kMesh, kSwitch };

struct Structure {
  std::string maker;        ///< of the GPUs: nvidia, amd
  std::string gpu;          ///< words of the known model, else the name itself
  int sm = 0;               ///< of the first GPU
  Join join = Join::kNone;  ///< of the GPUs, by cables that are not PCIe
  int join_generation = 0;  ///< of these cables; 0: none, or they have none
  std::string join_name;    ///< "NVLink 4", "Infinity Fabric"; empty: none
  std::string host;         ///< kind of an accelerator cable to the CPU, which copies take; empty: PCIe
  int pcie_generation = 0;  ///< of the first GPU's port; 0: it has none
};

const Device& first_gpu(const Topology& topology);
/// Of its GPUs: nvidia or amd.
std::string maker_of(const Topology& topology);
Structure structure_of(const Topology& topology);
/// Releases of GPUs of one maker between two compute capabilities, as the table of GPUs lists them.
int generations_between(const Structure& a, const Structure& b);

}  // namespace linkcast::lending
