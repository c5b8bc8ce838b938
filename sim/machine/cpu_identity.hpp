#pragma once
// By what NCCL tells CPUs apart.
#include <string>
#include <utility>
#include <vector>

#include "sim/machine/topology.hpp"

namespace linkcast {

/// Attributes arch, vendor, familyid and modelid of a CPU in a topology file of NCCL, as far as they apply.
using CpuIdentity = std::vector<std::pair<std::string, std::string>>;

/// Of the vendor and the model's name; a name that an importer wrote holds the numbers themselves.
/// @throws InputError  a CPU without a vendor
CpuIdentity cpu_identity(const Device& cpu);

}  // namespace linkcast
