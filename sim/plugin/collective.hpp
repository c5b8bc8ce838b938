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

/// How its bytes go: around closed rings, along a chain that starts or ends at the root, or straight from pair to pair.
enum class Shape { kRing, kChain, kPairs };

struct CollectiveTraits {
  bool reduces = false;  ///< buffers of several ranks are combined into one
  bool gathers = false;  ///< whoever gets a result gets the parts of all ranks
  bool root = false;     ///< rank 0 is unlike the others
};

/// `size` is the "size" column of nccl-tests: the larger of the send and the receive buffer of one rank.
class Collective {
 public:
  Collective() = default;
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  virtual ~Collective() = default;
  [[nodiscard]] virtual Shape shape() const = 0;
  [[nodiscard]] virtual CollectiveTraits traits() const = 0;
  /// Bytes that cross each hop of the ring(s) or chain(s) in total, for `size` on n ranks.
  [[nodiscard]] virtual Bytes bytes_per_hop(Bytes size, int ranks) const = 0;
  /// Sequential hops the last byte needs.
  [[nodiscard]] virtual int steps(int ranks) const = 0;
  /// Of a ring: the closing hop last -> first carries data too.
  [[nodiscard]] bool closed() const { return shape() == Shape::kRing; }
  /// Of rings: distance between the blocks of two ranks in a buffer; 0 if the library may place its pieces as it likes.
  [[nodiscard]] virtual Bytes block_distance(Bytes /*size*/, int /*ranks*/) const { return {0}; }
  /// Of pairs: messages that all ranks send at once.
  [[nodiscard]] virtual std::vector<PairMessage> messages(Bytes /*size*/, int /*ranks*/) const { return {}; }
  /// Of pairs: every rank sends one to every other, all of the same size, so that they need not be listed.
  [[nodiscard]] virtual bool every_pair() const { return false; }
  /// Of pairs: messages are parts of one buffer, side by side, and the thread blocks that send them also copy the part
  /// that a rank keeps.
  [[nodiscard]] virtual bool own_part() const { return false; }
  /// busbw = algbw x factor. source: NVIDIA/nccl-tests doc/PERFORMANCE.md
  [[nodiscard]] virtual double bus_factor(int ranks) const = 0;
};

Registry<Collective>& collectives();

}  // namespace linkcast
