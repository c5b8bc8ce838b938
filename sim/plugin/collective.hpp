#pragma once
// A collective operation over a ring: how many bytes pass each hop, in how many steps. Pure arithmetic.
#include "sim/plugin/registry.hpp"
#include "sim/units/quantity.hpp"

namespace linkcast {

/// `size` is the "size" column of nccl-tests: the larger of the send and the receive buffer of one rank.
class Collective {
 public:
  Collective() = default;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  virtual ~Collective() = default;
  /// Bytes that cross each hop of the ring(s) in total, for `size` on n ranks.
  [[nodiscard]] virtual Bytes bytes_per_hop(Bytes size, int ranks) const = 0;
  /// Sequential hops the last byte needs.
  [[nodiscard]] virtual int steps(int ranks) const = 0;
  /// true: the closing hop last -> first carries data too; false: a chain that starts at the root.
  [[nodiscard]] virtual bool closed() const = 0;
  /// busbw = algbw x factor. source: NVIDIA/nccl-tests doc/PERFORMANCE.md
  [[nodiscard]] virtual double bus_factor(int ranks) const = 0;
};

Registry<Collective>& collectives();

}  // namespace linkcast
