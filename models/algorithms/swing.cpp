#include <utility>

#include "models/algorithms/phases.hpp"
#include "sim/base/index.hpp"

namespace linkcast {
namespace {

/// Partner of v in round s among `power` ranks: rho(s) = 1 - 2 + 4 - ... +- 2^s further where v is even, as much nearer
/// where it is odd. Distances are 1, 1, 3, 5, 11, ...: on a ring or torus shorter than the 1, 2, 4, 8, 16 of doubling.
int swing_partner(int v, int s, int power) {
  const int rho = (1 - (s % 2 == 0 ? -1 : 1) * (1 << (s + 1))) / 3;
  return wrapped(v % 2 == 0 ? v + rho : v - rho, power);
}

/// Adds v and all that its parts still reach in rounds s, s + 1, ...: what it answers for from then on.
void add_reached(int v, int s, const Fold& fold, std::vector<int>& blocks) {
  blocks.push_back(v);
  for (int later = s; later < fold.rounds; ++later)
    add_reached(swing_partner(v, later, fold.power), later + 1, fold, blocks);
}

/// Sums go out in rounds 0, 1, ..., results come back between the same partners in the opposite order.
Phase swing_phase(const Fold& fold, bool gathers) {
  Phase phase;
  phase.rounds = fold.rounds;
  phase.add = [fold, gathers](int round, bool blocks, std::vector<ScheduledMessage>& out) {
    const int s = gathers ? fold.rounds - 1 - round : round;
    for (int v = 0; v < fold.power; ++v) {
      const int partner = swing_partner(v, s, fold.power);
      ScheduledMessage message{fold.rank(v), fold.rank(partner), 1.0 / (2 << s), !gathers};
      if (blocks) add_reached(gathers ? v : partner, s + 1, fold, message.blocks);
      out.push_back(std::move(message));
    }
  };
  return phase;
}

/// @limits  the bandwidth-optimal form on one dimension, whatever the size; ranks beyond a power of two are folded in
///          first and get the result last, where the paper pairs even numbers of ranks directly
class Swing final : public Algorithm {
 public:
  [[nodiscard]] std::vector<std::string> operations() const override { return {"all_reduce"}; }
  [[nodiscard]] Schedule schedule(const std::string& /*operation*/, int ranks) const override {
    const Fold fold(ranks);
    FoldedBlocks whole;
    whole.count = whole.total = fold.power;
    return {fold.power,
            {fold_in(fold, whole, true), swing_phase(fold, false), swing_phase(fold, true), fold_out(fold, whole)}};
  }
};

const bool swing_registered = algorithms().add(
    {"swing", "partners on alternating sides, 1, 1, 3, 5, 11, ... ranks away: reduce-scatter, then all-gather",
     "De Sensi, Bonato, Saam, Hoefler: Swing: Short-cutting Rings for Higher Bandwidth Allreduce, NSDI 2024, section "
     "3"},
    [] { return std::make_unique<Swing>(); });

}  // namespace
}  // namespace linkcast
