// Reduce-scatter, then all-gather, on one ring.
#include "sim/machine/ring_collective.hpp"

namespace {

const bool ring_all_reduce_registered = linkcast::collectives().add(
    {"all_reduce", "2(n-1) steps of size/n bytes around a ring", "NVIDIA/nccl-tests doc/PERFORMANCE.md, AllReduce"},
    [] { return std::make_unique<linkcast::RingCollective>(true, true); });

}  // namespace
