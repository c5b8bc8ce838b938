#pragma once
// Operations that a library makes of sends and receives, all in one group.
#include "sim/machine/collective.hpp"
#include "sim/machine/ring_arithmetic.hpp"

namespace linkcast {

/// No ring: what the ring's arithmetic asks for is none. One of models/collectives says its messages.
class PairCollective : public Collective {
 public:
  explicit PairCollective(CollectiveTraits traits, std::vector<double> parts_B = {})
      : Collective(std::move(parts_B)), traits_(traits) {}
  [[nodiscard]] Shape shape() const override { return Shape::kPairs; }
  [[nodiscard]] CollectiveTraits traits() const override { return traits_; }
  [[nodiscard]] Bytes bytes_per_hop(Bytes /*size*/, int /*ranks*/) const override { return {0}; }
  [[nodiscard]] int steps(int /*ranks*/) const override { return 1; }
  [[nodiscard]] bool own_part() const override { return true; }
  [[nodiscard]] double bus_factor(int ranks) const override { return ring_share(1, ranks); }

 private:
  CollectiveTraits traits_;
};

}  // namespace linkcast
