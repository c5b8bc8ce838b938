#pragma once
#include <string>

#include "sim/machine/platform.hpp"

namespace linkcast::cli {

/// The matrix that `nvidia-smi topo -m` prints of such a machine: GPUs and NICs, NV# by links, PIX, PXB, PHB or SYS by
/// PCIe, and the NUMA node of each GPU, which is the number of its CPU.
/// @throws InputError  GPUs of another maker
/// @source  NVIDIA, nvidia-smi(1), legend of `topo -m`
std::string nvidia_smi_topo(const Platform& platform);

}  // namespace linkcast::cli
