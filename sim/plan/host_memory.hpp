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

}  // namespace linkcast::activities
