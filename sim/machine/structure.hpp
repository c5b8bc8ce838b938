#pragma once
// Structure that decides how alike two machines are: GPUs, links between them, links to the CPU; and CPUs as NCCL tells
// them apart.
#include <string>
#include <utility>
#include <vector>

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

namespace linkcast {

/// Attributes arch, vendor, familyid and modelid of a CPU in a topology file of NCCL, as far as they apply.
using CpuIdentity = std::vector<std::pair<std::string, std::string>>;

/// Identity from the vendor and the model's name; a name that an importer wrote holds the numbers themselves.
/// @throws InputError  a CPU without a vendor
CpuIdentity cpu_identity(const Device& cpu);

}  // namespace linkcast
