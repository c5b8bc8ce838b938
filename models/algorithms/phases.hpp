#pragma once
// Phases that several algorithms share.
#include <initializer_list>
#include <string>
#include <vector>

#include "sim/forecast/algorithm.hpp"

namespace linkcast {

/// An operation and its schedule on `ranks` ranks.
struct OperationSchedule {
  const char* operation;
  Schedule (*on)(int ranks);
};

/// An algorithm that one table says it all of: what it does, and how.
class TableAlgorithm : public Algorithm {
 public:
  TableAlgorithm(std::initializer_list<OperationSchedule> rows) : rows_(rows) {}
  [[nodiscard]] std::vector<std::string> operations() const override;
  [[nodiscard]] Schedule schedule(const std::string& operation, int ranks) const override;

 private:
  std::vector<OperationSchedule> rows_;
};

/// Algorithms over powers of two use the largest one below; what is left over joins first and gets the result last:
/// odd rank 2v + 1 is folded into 2v for v < extra. `v` numbers those who take part.
struct Fold {
  explicit Fold(int ranks);
  int ranks, power = 1, rounds = 0, extra = 0;
  [[nodiscard]] int rank(int v) const { return v < extra ? 2 * v : v + extra; }
  /// First rank that v stands for; those of [a, b) are [first(a), first(b)).
  [[nodiscard]] int first(int v) const { return v < extra ? 2 * v : v + extra; }
};

/// Number of rounds in which something doubles until it reaches n.
int doublings(int n);
/// a modulo n, never negative.
constexpr int wrapped(int a, int n) { return ((a % n) + n) % n; }
/// The message of blocks [first, first + count) of `total`, wrapped round.
ScheduledMessage message_of(int from, int to, int first, int count, int total, bool combines, bool blocks);

/// Blocks that a folded rank sends or gets: `count` of `total`, from its own number + shift on, or from 0.
struct FoldedBlocks {
  int count = 1, total = 1;
  bool own = false;
  int shift = 0;
};
/// The folded ranks send to those they are folded into.
Phase fold_in(const Fold& fold, const FoldedBlocks& what, bool combines);
/// They get theirs back.
Phase fold_out(const Fold& fold, const FoldedBlocks& what);
/// Every rank's part goes round to the next one; `lead` blocks ahead of its own number at first.
Phase ring_phase(int ranks, int lead, bool combines);
/// A binomial tree rooted at 0, from the root down (`down`) or up. @param whole  every message is the whole buffer, of
/// so many blocks; 0: the blocks of the subtree, one for each rank
Phase binomial_phase(int ranks, bool down, int whole, bool combines);
/// Round k: every rank r sends rank r + k + 1 that one's block.
Phase pairwise_phase(int ranks, bool combines);
/// Every rank sends each other rank its own part, rounds as above.
Schedule alltoall(int ranks, int at_once);
/// Half of what a rank still holds goes to the partner, at first far away. @param first  block of each v, and the end
Phase halving_phase(const Fold& fold, const std::vector<int>& first, int total);
/// All that a rank holds goes to the partner, at first near.
Phase doubling_phase(const Fold& fold, const std::vector<int>& first, int total);
/// first block of v = 0 to power, for blocks of the ranks (`of_ranks`) or of those who take part.
std::vector<int> first_blocks(const Fold& fold, bool of_ranks);

}  // namespace linkcast
