#pragma once
// A collective operation: over a ring or chain, how many bytes pass each hop in how many steps; or messages between
// pairs of ranks, all in one group. Pure arithmetic. A collective of models/collectives is one shape with its numbers.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/machine/registry.hpp"

namespace linkcast {

/// One message of a rank to another.
struct PairMessage {
  int from = 0, to = 0;  ///< ranks
  Bytes size;
};

/// How its bytes go: around closed rings, along a chain that starts or ends at the root, or straight from pair to pair.
enum class Shape { kRing, kChain, kPairs };

/// Sizes that a call may give: none, each rank's part, or what each rank sends each.
enum class PartSizes { kEqual, kOfRanks, kOfPairs };

struct CollectiveTraits {
  bool reduces = false;  ///< buffers of several ranks are combined into one
  bool gathers = false;  ///< whoever gets a result gets the parts of all ranks
  bool root = false;     ///< rank 0 is unlike the others
  PartSizes parts = PartSizes::kEqual;
};

/// `size` is the "size" column of nccl-tests: the larger of the send and the receive buffer of one rank.
class Collective {
 public:
  /// @param parts_B  see parts_B()
  explicit Collective(std::vector<double> parts_B = {}) : parts_B_(std::move(parts_B)) {}
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  virtual ~Collective() = default;
  [[nodiscard]] virtual Shape shape() const = 0;
  [[nodiscard]] virtual CollectiveTraits traits() const = 0;
  /// Bytes of the parts of the buffer, by rank, or of pairs row by row of the senders, as Schedule numbers blocks.
  /// Empty: all are equal.
  [[nodiscard]] const std::vector<double>& parts_B() const { return parts_B_; }
  /// The same operation with such parts; null: its parts are equal.
  [[nodiscard]] virtual std::unique_ptr<Collective> with_parts(std::vector<double> /*parts_B*/) const {
    return nullptr;
  }
  /// The operation with equal parts whose schedules move the same parts, of one whose parts may differ.
  [[nodiscard]] virtual std::string equal_parts() const { return ""; }
  /// The call that replaces it where a library of rings lacks it, once for each rank, all in one group.
  [[nodiscard]] virtual std::string grouped_call() const { return ""; }
  /// Bytes that cross the busiest hop of the ring(s) or chain(s) in total, for `size` on n ranks.
  [[nodiscard]] virtual Bytes bytes_per_hop(Bytes size, int ranks) const = 0;
  /// Sequential hops the last byte needs.
  [[nodiscard]] virtual int steps(int ranks) const = 0;
  /// True where the closing hop last -> first of a ring carries data too.
  [[nodiscard]] bool closed() const { return shape() == Shape::kRing; }
  /// Distance in a ring's buffer between the blocks of two ranks; 0 if the library may place its pieces as it likes.
  [[nodiscard]] virtual Bytes block_distance(Bytes /*size*/, int /*ranks*/) const { return {0}; }
  /// Messages that all ranks of pairs send at once.
  [[nodiscard]] virtual std::vector<PairMessage> messages(Bytes /*size*/, int /*ranks*/) const { return {}; }
  /// True where every rank of pairs sends one to every other, all of the same size, so that they need not be listed.
  [[nodiscard]] virtual bool every_pair() const { return false; }
  /// True where the messages of pairs are parts of one buffer, side by side, and the thread blocks that send them also
  /// copy the part that a rank keeps.
  [[nodiscard]] virtual bool own_part() const { return false; }
  /// busbw = algbw x factor. source: NVIDIA/nccl-tests doc/PERFORMANCE.md
  [[nodiscard]] virtual double bus_factor(int ranks) const = 0;

 private:
  std::vector<double> parts_B_;
};

Registry<Collective>& collectives();

/// Share of the buffer that crosses each hop of a ring when every block of size / ranks goes `passes` times almost
/// around it (one hop less than the ring has): passes x (ranks - 1) / ranks. Also the factor busbw / algbw.
/// @param passes  1: gather or scatter, 2: both
/// @source  NVIDIA/nccl-tests doc/PERFORMANCE.md, AllReduce, AllGather, ReduceScatter
constexpr double ring_share(int passes, int ranks) { return passes * (ranks - 1.0) / ranks; }

/// Hops one after the other until the last block has arrived.
constexpr int ring_steps(int passes, int ranks) { return passes * (ranks - 1); }

/// Hops from the first to the last rank of a chain.
constexpr int chain_steps(int ranks) { return ranks - 1; }

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
