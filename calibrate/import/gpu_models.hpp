#pragma once
// What a GPU is, as far as its name tells.
#include <optional>
#include <string>

#include "sim/records/gpu_models.hpp"

namespace linkcast::topology_import {

/// @param name  as nvidia-smi or CUDA print it ("NVIDIA H200", "Tesla V100-SXM2-16GB"), or only the model ("H200")
/// @returns nothing for a model not listed here
std::optional<GpuModel> find_gpu_model(const std::string& name);

/// Whether a name holds all words of a model, in their order.
bool names_model(const std::string& name, const GpuModel& model);

/// Generation of the NVLink that `nvidia-smi nvlink -s` shows with this rate, 0 if several have it or none.
int nvlink_generation_of(double shown_GBps);
/// Can `nvidia-smi nvlink -s` show this rate for links of this type?
bool shows_as(const NvlinkType& type, double shown_GBps);

}  // namespace linkcast::topology_import
