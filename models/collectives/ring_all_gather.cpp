// Every rank's part goes around the ring. size: the gathered buffer.
#include "sim/machine/ring_collective.hpp"

namespace {

const bool ring_all_gather_registered = linkcast::collectives().add(
    {"all_gather", "n-1 steps of size/n bytes around a ring", "NVIDIA/nccl-tests doc/PERFORMANCE.md, AllGather"},
    [] { return std::make_unique<linkcast::RingCollective>(false, true); });

}  // namespace
