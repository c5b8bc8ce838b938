#pragma once
// Bytes, steps and bus factors that ring collectives share.
#include "sim/base/quantity.hpp"

namespace linkcast {

/// Share of the buffer that crosses each hop of a ring when every block of size / ranks goes `passes` times almost
/// around it (one hop less than the ring has): passes x (ranks - 1) / ranks. Also the factor busbw / algbw.
/// @param passes  1: gather or scatter, 2: both
/// @source  NVIDIA/nccl-tests doc/PERFORMANCE.md, AllReduce, AllGather, ReduceScatter
constexpr double ring_share(int passes, int ranks) { return passes * (ranks - 1.0) / ranks; }

/// Hops one after the other until the last block has arrived.
constexpr int ring_steps(int passes, int ranks) { return passes * (ranks - 1); }

/// Hops from the first to the last rank of a chain.
constexpr int chain_steps(int ranks) { return ranks - 1; }

}  // namespace linkcast
