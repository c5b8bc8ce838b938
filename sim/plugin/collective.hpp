#pragma once
// A collective operation over a ring, how many bytes pass each hop in how many steps; or one made of messages between
// pairs of ranks. Pure arithmetic.
#include <vector>

#include "sim/plugin/registry.hpp"
#include "sim/units/quantity.hpp"

namespace linkcast {

/// One message of a rank to another.
struct PairMessage {
  int from = 0, to = 0;  ///< ranks
  Bytes size;
};

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
  /// Distance between the blocks of two ranks in a buffer; 0 if the library may place its pieces as it likes.
  [[nodiscard]] virtual Bytes block_distance(Bytes /*size*/, int /*ranks*/) const { return {0}; }
  /// Messages that all ranks send at once, for operations that are no ring; those of a ring have none.
  [[nodiscard]] virtual std::vector<PairMessage> messages(Bytes /*size*/, int /*ranks*/) const { return {}; }
  /// Of messages: every rank sends one to every other, all of the same size, so that they need not be listed.
  [[nodiscard]] virtual bool every_pair() const { return false; }
  /// Of messages: the thread blocks that send them also copy what a rank keeps of its own.
  [[nodiscard]] virtual bool own_part() const { return false; }
  /// busbw = algbw x factor. source: NVIDIA/nccl-tests doc/PERFORMANCE.md
  [[nodiscard]] virtual double bus_factor(int ranks) const = 0;
};

Registry<Collective>& collectives();

}  // namespace linkcast
