#pragma once
// The memory of a CPU as a limit: what devices write into it and read from it, beside the cables on the way.
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast::activities {

/// What bytes on these links take of host memory: written where the links end at a CPU, read where they begin at one.
/// A way that goes on through the CPU to another device is taken for both, a slice being written and then read.
/// Empty where nothing was measured.
/// @param links  of copies to, from or through host memory: nothing tells them from those that pass a CPU by
/// @param bytes  of the buffers: small ones stay in the CPU's cache, as if all its GPUs copied as much both ways
std::vector<Use> host_memory_uses(const Platform& platform, const std::vector<int>& links, double bytes);

// A GPU over PCIe and the memory of the other socket, where no such copy was measured: how many times as long as with
// the memory of its own. source: assumed between 1.2 on POWER9 (calibrate/data/summit/memcpy.json) and the 3 to 5 that
// owners of x86 machines report
inline constexpr double kFarMemory = 2, kFarMemorySpread = 0.5;

/// Whether these links of a copy to or from host memory go on to another socket, at a rate that nobody measured.
bool to_far_memory(const Platform& platform, const std::vector<int>& links);

}  // namespace linkcast::activities
