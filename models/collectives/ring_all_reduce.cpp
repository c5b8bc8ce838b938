// Reduce-scatter, then all-gather, on one ring.
#include "sim/plugin/collective.hpp"
#include "sim/plugin/ring_arithmetic.hpp"

namespace {

constexpr int kPasses = 2;  // reduce-scatter and all-gather

class RingAllReduce final : public linkcast::Collective {
 public:
  [[nodiscard]] linkcast::Bytes bytes_per_hop(linkcast::Bytes size, int ranks) const override {
    return linkcast::ring_share(kPasses, ranks) * size;
  }
  [[nodiscard]] int steps(int ranks) const override { return linkcast::ring_steps(kPasses, ranks); }
  [[nodiscard]] bool closed() const override { return true; }
  [[nodiscard]] double bus_factor(int ranks) const override { return linkcast::ring_share(kPasses, ranks); }
};

const bool registered = linkcast::collectives().add(
    {"all_reduce", "2(n-1) steps of size/n bytes around a ring", "NVIDIA/nccl-tests doc/PERFORMANCE.md, AllReduce"},
    [] { return std::make_unique<RingAllReduce>(); });

}  // namespace
