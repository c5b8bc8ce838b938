#pragma once
// Hops of kernels through host memory: what stores and loads over PCIe take of cables and memory.
#include <vector>

#include "sim/machine/communicator.hpp"
#include "sim/plan/transfer.hpp"

namespace linkcast::activities {

/// How kernels take the hops of a channel that go through host memory.
struct HostHops {
  /// Steps in which a rank sends, of a closed ring: in the first it sends alone, in one more it receives alone, and all
  /// ranks keep step. 0: sends and receives all the time.
  int steps = 0;
  double wire = 1;    ///< bytes that PCIe carries, as of a copy's, per byte stored
  double memory = 1;  ///< share of the bytes that reaches memory, the rest staying in the CPU's cache
};

/// Most that kernels store into host memory, or load from it; infinite where never measured.
double host_kernel_Bps(const Platform& platform, bool stores);

/// Changes what hops take of PCIe cables to what kernels take, and adds the memory between them. Nothing where no hop
/// goes through host memory.
void add_host_hops(const Platform& platform, const std::vector<Hop>& hops, const HostHops& how, std::vector<Use>& uses);

}  // namespace linkcast::activities
