#pragma once
// The two shapes of ring operations; a collective in models/collectives is one of them with its own numbers.
#include "sim/plugin/collective.hpp"
#include "sim/plugin/ring_arithmetic.hpp"

namespace linkcast {

/// Blocks of size / ranks go `passes` times almost around a closed ring.
class RingCollective final : public Collective {
 public:
  /// @param placed  the blocks of the ranks lie side by side in a buffer of the user's
  RingCollective(int passes, bool placed) : passes_(passes), placed_(placed) {}
  [[nodiscard]] Bytes bytes_per_hop(Bytes size, int ranks) const override { return ring_share(passes_, ranks) * size; }
  [[nodiscard]] int steps(int ranks) const override { return ring_steps(passes_, ranks); }
  [[nodiscard]] bool closed() const override { return true; }
  [[nodiscard]] Bytes block_distance(Bytes size, int ranks) const override { return {placed_ ? size.si / ranks : 0}; }
  [[nodiscard]] double bus_factor(int ranks) const override { return ring_share(passes_, ranks); }

 private:
  int passes_;
  bool placed_;
};

/// The whole buffer goes along the ring without its closing hop, from or to the root.
class ChainCollective final : public Collective {
 public:
  [[nodiscard]] Bytes bytes_per_hop(Bytes size, int /*ranks*/) const override { return size; }
  [[nodiscard]] int steps(int ranks) const override { return chain_steps(ranks); }
  [[nodiscard]] bool closed() const override { return false; }
  [[nodiscard]] double bus_factor(int /*ranks*/) const override { return 1; }
};

}  // namespace linkcast
