#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

Schedule rabenseifner_halves(const Fold& fold, const FoldedBlocks& all) {
  return {fold.power, {fold_in(fold, all, true), halving_phase(fold, first_blocks(fold, false), fold.power)}};
}

Schedule rabenseifner_all_reduce(int ranks) {
  const Fold fold(ranks);
  const FoldedBlocks all{fold.power, fold.power, false, 0};
  Schedule schedule = rabenseifner_halves(fold, all);
  schedule.phases.push_back(doubling_phase(fold, first_blocks(fold, false), fold.power));
  schedule.phases.push_back(fold_out(fold, all));
  return schedule;
}

Schedule rabenseifner_reduce(int ranks) {
  const Fold fold(ranks);
  const FoldedBlocks all{fold.power, fold.power, false, 0};
  Schedule schedule = rabenseifner_halves(fold, all);
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

class Rabenseifner final : public TableAlgorithm {
 public:
  Rabenseifner() : TableAlgorithm({{"all_reduce", rabenseifner_all_reduce}, {"reduce", rabenseifner_reduce}}) {}
};

const bool rabenseifner_registered =
    algorithms().add({"rabenseifner", "reduce-scatter by halving, then all-gather by doubling, or gather to the root",
                      "Rabenseifner: Optimization of Collective Reduction Operations, ICCS 2004; Thakur, Rabenseifner, "
                      "Gropp, IJHPCA 19(1), 2005"},
                     [] { return std::make_unique<Rabenseifner>(); });

}  // namespace
}  // namespace linkcast
