// Buffers are added up along a chain: the ring without the hop out of the root.
#include "sim/plugin/collective.hpp"
#include "sim/plugin/ring_arithmetic.hpp"

namespace {

class RingReduce final : public linkcast::Collective {
 public:
  [[nodiscard]] linkcast::Bytes bytes_per_hop(linkcast::Bytes size, int /*ranks*/) const override { return size; }
  [[nodiscard]] int steps(int ranks) const override { return linkcast::chain_steps(ranks); }
  [[nodiscard]] bool closed() const override { return false; }
  [[nodiscard]] double bus_factor(int /*ranks*/) const override { return 1; }
};

const bool registered = linkcast::collectives().add(
    {"reduce", "size bytes along a chain of n-1 hops to the root", "NVIDIA/nccl-tests doc/PERFORMANCE.md, Reduce"},
    [] { return std::make_unique<RingReduce>(); });

}  // namespace
