#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

Schedule doubling_all_reduce(int ranks) {
  const Fold fold(ranks);
  Phase exchange;
  exchange.rounds = fold.rounds;
  exchange.add = [fold](int round, bool blocks, std::vector<ScheduledMessage>& out) {
    for (int v = 0; v < fold.power; ++v)
      out.push_back(message_of(fold.rank(v), fold.rank(v ^ (1 << round)), 0, 1, 1, true, blocks));
  };
  return {1, {fold_in(fold, {}, true), exchange, fold_out(fold, {})}};
}

Schedule doubling_all_gather(int ranks) {
  const Fold fold(ranks);
  return {ranks,
          {fold_in(fold, {1, ranks, true, 0}, false), doubling_phase(fold, first_blocks(fold, true), ranks),
           fold_out(fold, {ranks - 1, ranks, true, 1})}};
}

class RecursiveDoubling final : public TableAlgorithm {
 public:
  RecursiveDoubling() : TableAlgorithm({{"all_reduce", doubling_all_reduce}, {"all_gather", doubling_all_gather}}) {}
};

const bool recursive_doubling_registered =
    algorithms().add({"recursive_doubling", "partners at twice the distance each round exchange all they have",
                      "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, "
                      "IJHPCA 19(1), 2005, section 4.1 and 4.5"},
                     [] { return std::make_unique<RecursiveDoubling>(); });

}  // namespace
}  // namespace linkcast
