#pragma once
#include <string>

#include "sim/machine/topology.hpp"

namespace linkcast::cli {

/// The matrix that `nvidia-smi topo -m` prints of such a machine: GPUs and NICs, NV# by links, PIX, PXB, PHB or SYS by
/// PCIe, and the NUMA node of each GPU, which is the number of its CPU.
/// @throws InputError  GPUs of another maker; a device has no path up to a CPU
/// @source  NVIDIA, nvidia-smi(1), legend of `topo -m`
std::string nvidia_smi_topo(const Topology& topology);

}  // namespace linkcast::cli
