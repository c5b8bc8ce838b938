#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

class Rabenseifner final : public Algorithm {
 public:
  [[nodiscard]] std::vector<std::string> operations() const override { return {"all_reduce", "reduce"}; }
  [[nodiscard]] Schedule schedule(const std::string& operation, int ranks) const override {
    const Fold fold(ranks);
    const std::vector<int> first = first_blocks(fold, false);
    const FoldedBlocks all{fold.power, fold.power, false, 0};
    Schedule schedule{fold.power, {fold_in(fold, all, true), halving_phase(fold, first, fold.power)}};
    if (operation == "all_reduce") {
      schedule.phases.push_back(doubling_phase(fold, first, fold.power));
      schedule.phases.push_back(fold_out(fold, all));
      return schedule;
    }
    Phase gather;
    gather.rounds = fold.rounds;
    gather.add = [fold](int round, bool blocks, std::vector<ScheduledMessage>& out) {
      const int held = 1 << round;
      for (int v = held; v < fold.power; v += 2 * held)
        out.push_back(message_of(fold.rank(v), fold.rank(v - held), v, held, fold.power, false, blocks));
    };
    schedule.phases.push_back(gather);
    return schedule;
  }
};

const bool rabenseifner_registered =
    algorithms().add({"rabenseifner", "reduce-scatter by halving, then all-gather by doubling, or gather to the root",
                      "Rabenseifner: Optimization of Collective Reduction Operations, ICCS 2004; Thakur, Rabenseifner, "
                      "Gropp, IJHPCA 19(1), 2005"},
                     [] { return std::make_unique<Rabenseifner>(); });

}  // namespace
}  // namespace linkcast
