#pragma once
// What a GPU is, as far as its name tells.
#include <optional>
#include <string>

#include "sim/records/gpu_models.hpp"

namespace linkcast {

/// @param name  as nvidia-smi or CUDA print it ("NVIDIA H200", "Tesla V100-SXM2-16GB"), only the model ("H200"), or
///              glued ("RTX4090", "H100SXM5")
/// @returns nothing for a model not listed here
std::optional<GpuModel> find_gpu_model(const std::string& name);

/// Whether a name holds all words of a model, in their order.
bool names_model(const std::string& name, const GpuModel& model);

}  // namespace linkcast
