#pragma once
// What a GPU is, as far as its name tells.
#include <optional>
#include <string>

#include "sim/records/link_rates.hpp"

namespace linkcast::topology_import {

struct GpuModel {
  int sm = 0;               ///< compute capability x 10
  int nvlinks = 0;          ///< links that leave the GPU; 0: it has none
  int pcie_generation = 0;  ///< of its x16 port
  bool nvswitch = false;    ///< could hang on an NVSwitch
};

/// @param name  as nvidia-smi or CUDA print it ("NVIDIA H200", "Tesla V100-SXM2-16GB"), or only the model ("H200")
/// @returns nothing for a model not listed here
std::optional<GpuModel> find_gpu_model(const std::string& name);

/// Generation of the NVLink that `nvidia-smi nvlink -s` shows with this rate, 0 if several have it or none.
int nvlink_generation_of(double shown_GBps);
/// Can `nvidia-smi nvlink -s` show this rate for links of this type?
bool shows_as(const NvlinkType& type, double shown_GBps);

}  // namespace linkcast::topology_import
