#pragma once
// GPUs of AMD by PCI, HIP and data sheets: models by PCI device, compute capability by gfx number, and the
// Infinity Fabric links (xGMI) between GPUs.
#include <optional>
#include <string>

#include "sim/base/quantity.hpp"

namespace linkcast::topology_import {

/// Links between GPUs of one kind.
struct GpuLinkType {
  std::string kind;
  BytesPerSecond rate;  ///< one link, one direction
  int links = 0;        ///< that leave a GPU; 0: not known
  int a_pair = 1;       ///< between two GPUs that are joined
};

/// @param sm  compute capability x 10. @param model  as it is called; empty: not known
GpuLinkType infinity_fabric_of(int sm, const std::string& model = "");
/// Whether two GPUs of this model with numbers 2k and 2k + 1 are the dies of one package, which more links join.
bool has_two_dies(const std::string& model);
/// Links between the two dies.
inline constexpr int kLinksBetweenDies = 4;  // source: AMD Instinct MI250X data sheet, 400 GB/s both directions

/// "0x740f" or "740f": the model of a PCI device of AMD's; empty: not known here.
std::string amd_model_of_pci(const std::string& device);
/// PCI vendor, as NCCL's files write it.
inline const std::string kAmdVendor = "0x1002";
/// Compute capability x 10 of "gfx90a", "gfx90a:sramecc+", "gfx942", or of HIP's number: 910, 942. Nothing for others.
std::optional<int> sm_of_gfx(const std::string& text);

}  // namespace linkcast::topology_import
