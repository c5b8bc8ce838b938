// Buffers are added up along a chain: the ring without the hop out of the root.
#include "sim/machine/ring_collective.hpp"

namespace {

const bool ring_reduce_registered = linkcast::collectives().add(
    {"reduce", "size bytes along a chain of n-1 hops to the root", "NVIDIA/nccl-tests doc/PERFORMANCE.md, Reduce"},
    [] { return std::make_unique<linkcast::ChainCollective>(true); });

}  // namespace
