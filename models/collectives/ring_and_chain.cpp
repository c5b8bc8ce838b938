// The five operations with equal parts over a ring or chain of ranks.
// source of all: NVIDIA/nccl-tests doc/PERFORMANCE.md
#include "sim/machine/collective.hpp"

namespace linkcast {
namespace {

/// @param section  of the source
template <class Operation, class... Traits>
bool add(const char* name, const char* summary, const char* section, Traits... traits) {
  return collectives().add({name, summary, std::string("NVIDIA/nccl-tests doc/PERFORMANCE.md, ") + section},
                           [=] { return std::make_unique<Operation>(traits...); });
}

// A ring: whether ranks reduce, and whether each gets the whole. Sizes: the buffer of all_reduce, the gathered one of
// all_gather, the send buffer of reduce_scatter.
const bool ring_and_chain_registered =
    add<RingCollective>("all_reduce", "2(n-1) steps of size/n bytes around a ring", "AllReduce", true, true) &&
    add<RingCollective>("all_gather", "n-1 steps of size/n bytes around a ring", "AllGather", false, true) &&
    add<RingCollective>("reduce_scatter", "n-1 steps of size/n bytes around a ring", "ReduceScatter", true, false) &&
    // A chain: the ring without the hop back to the root, or without the hop out of it.
    add<ChainCollective>("broadcast", "size bytes down a chain of n-1 hops from the root", "Broadcast", false) &&
    add<ChainCollective>("reduce", "size bytes along a chain of n-1 hops to the root", "Reduce", true);

}  // namespace
}  // namespace linkcast
