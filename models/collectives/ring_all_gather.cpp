// Every rank's part goes around the ring. size: the gathered buffer.
#include "sim/plugin/collective.hpp"
#include "sim/plugin/ring_arithmetic.hpp"

namespace {

constexpr int kPasses = 1;

class RingAllGather final : public linkcast::Collective {
 public:
  [[nodiscard]] linkcast::Bytes bytes_per_hop(linkcast::Bytes size, int ranks) const override {
    return linkcast::ring_share(kPasses, ranks) * size;
  }
  [[nodiscard]] int steps(int ranks) const override { return linkcast::ring_steps(kPasses, ranks); }
  [[nodiscard]] bool closed() const override { return true; }
  [[nodiscard]] linkcast::Bytes block_distance(linkcast::Bytes size, int ranks) const override {
    return {size.si / ranks};
  }
  [[nodiscard]] double bus_factor(int ranks) const override { return linkcast::ring_share(kPasses, ranks); }
};

const bool registered = linkcast::collectives().add(
    {"all_gather", "n-1 steps of size/n bytes around a ring", "NVIDIA/nccl-tests doc/PERFORMANCE.md, AllGather"},
    [] { return std::make_unique<RingAllGather>(); });

}  // namespace
