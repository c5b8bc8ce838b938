// The root's buffer goes down a chain: the ring without the hop back to the root.
#include "sim/plugin/collective.hpp"
#include "sim/plugin/ring_arithmetic.hpp"

namespace {

class RingBroadcast final : public linkcast::Collective {
 public:
  [[nodiscard]] linkcast::Bytes bytes_per_hop(linkcast::Bytes size, int /*ranks*/) const override { return size; }
  [[nodiscard]] int steps(int ranks) const override { return linkcast::chain_steps(ranks); }
  [[nodiscard]] bool closed() const override { return false; }
  [[nodiscard]] double bus_factor(int /*ranks*/) const override { return 1; }
};

const bool registered = linkcast::collectives().add({"broadcast", "size bytes down a chain of n-1 hops from the root",
                                                     "NVIDIA/nccl-tests doc/PERFORMANCE.md, Broadcast"},
                                                    [] { return std::make_unique<RingBroadcast>(); });

}  // namespace
