#pragma once
// NVLinks as nvidia-smi shows them. Names of GPUs: sim/records/gpu_model_names.hpp.
#include "sim/records/gpu_model_names.hpp"

namespace linkcast::topology_import {

/// Generation of the NVLink that `nvidia-smi nvlink -s` shows with this rate, 0 if several have it or none.
int nvlink_generation_of(double shown_GBps);
/// Can `nvidia-smi nvlink -s` show this rate for links of this type?
bool shows_as(const NvlinkType& type, double shown_GBps);

}  // namespace linkcast::topology_import
