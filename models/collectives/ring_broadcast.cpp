// The root's buffer goes down a chain: the ring without the hop back to the root.
#include "sim/machine/ring_collective.hpp"

namespace {

const bool ring_broadcast_registered =
    linkcast::collectives().add({"broadcast", "size bytes down a chain of n-1 hops from the root",
                                 "NVIDIA/nccl-tests doc/PERFORMANCE.md, Broadcast"},
                                [] { return std::make_unique<linkcast::ChainCollective>(false); });

}  // namespace
