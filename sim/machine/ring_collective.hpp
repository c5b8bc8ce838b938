#pragma once
// The two shapes of ring operations; a collective in models/collectives is one of them with its own numbers.
#include "sim/machine/collective.hpp"
#include "sim/machine/ring_arithmetic.hpp"

namespace linkcast {

/// Blocks of size / ranks go almost around a closed ring: once to be reduced, once to be gathered. Where they do one of
/// both, the blocks of the ranks lie side by side in a buffer of the user's.
class RingCollective final : public Collective {
 public:
  RingCollective(bool reduces, bool gathers) : traits_{reduces, gathers, false} {}
  [[nodiscard]] Shape shape() const override { return Shape::kRing; }
  [[nodiscard]] CollectiveTraits traits() const override { return traits_; }
  [[nodiscard]] Bytes bytes_per_hop(Bytes size, int ranks) const override { return ring_share(passes(), ranks) * size; }
  [[nodiscard]] int steps(int ranks) const override { return ring_steps(passes(), ranks); }
  [[nodiscard]] Bytes block_distance(Bytes size, int ranks) const override {
    return {passes() == 1 ? size.si / ranks : 0};
  }
  [[nodiscard]] double bus_factor(int ranks) const override { return ring_share(passes(), ranks); }

 private:
  [[nodiscard]] int passes() const { return (traits_.reduces ? 1 : 0) + (traits_.gathers ? 1 : 0); }

  CollectiveTraits traits_;
};

/// The whole buffer goes along the ring without its closing hop, from the root, or to it, reduced on the way.
class ChainCollective final : public Collective {
 public:
  explicit ChainCollective(bool reduces) : traits_{reduces, false, true} {}
  [[nodiscard]] Shape shape() const override { return Shape::kChain; }
  [[nodiscard]] CollectiveTraits traits() const override { return traits_; }
  [[nodiscard]] Bytes bytes_per_hop(Bytes size, int /*ranks*/) const override { return size; }
  [[nodiscard]] int steps(int ranks) const override { return chain_steps(ranks); }
  [[nodiscard]] double bus_factor(int /*ranks*/) const override { return 1; }

 private:
  CollectiveTraits traits_;
};

}  // namespace linkcast
