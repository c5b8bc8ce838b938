#pragma once
// Hops of kernels through host memory: what stores and loads over PCIe take of cables and memory.
#include <vector>

#include "sim/activities/channel_flows.hpp"

namespace linkcast::activities {

/// Most that kernels store into host memory, or load from it; infinite where never measured.
double host_kernel_Bps(const Platform& platform, bool stores);

/// Changes what hops take of PCIe cables to what kernels take, and adds the memory between them. Nothing where no hop
/// goes through host memory.
void add_host_hops(const Platform& platform, const std::vector<Hop>& hops, const HostHops& how, std::vector<Use>& uses);

}  // namespace linkcast::activities
