// Every part is reduced on its way around the ring. size: the send buffer.
#include "sim/machine/ring_collective.hpp"

namespace {

const bool ring_reduce_scatter_registered =
    linkcast::collectives().add({"reduce_scatter", "n-1 steps of size/n bytes around a ring",
                                 "NVIDIA/nccl-tests doc/PERFORMANCE.md, ReduceScatter"},
                                [] { return std::make_unique<linkcast::RingCollective>(true, false); });

}  // namespace
