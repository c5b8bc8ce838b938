#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

Phase binomial_reduce(int ranks) { return binomial_phase(ranks, false, true, true); }
Phase binomial_broadcast(int ranks) { return binomial_phase(ranks, true, true, false); }

class Binomial final : public TableAlgorithm {
 public:
  Binomial()
      : TableAlgorithm({{"all_reduce",
                         [](int ranks) {
                           return Schedule{1, {binomial_reduce(ranks), binomial_broadcast(ranks)}};
                         }},
                        {"broadcast",
                         [](int ranks) {
                           return Schedule{1, {binomial_broadcast(ranks)}};
                         }},
                        {"gather",
                         [](int ranks) {
                           return Schedule{ranks, {binomial_phase(ranks, false, false, false)}};
                         }},
                        {"reduce",
                         [](int ranks) {
                           return Schedule{1, {binomial_reduce(ranks)}};
                         }},
                        {"scatter", [](int ranks) {
                           return Schedule{ranks, {binomial_phase(ranks, true, false, false)}};
                         }}}) {}

  /// Open MPI's reduce_scatter_block by "basic_linear" is a reduce and a scatter. A reduce and a broadcast stand for
  /// it.
  /// @limits  the broadcast sends more than the scatter would
  [[nodiscard]] Schedule schedule(const std::string& operation, int ranks) const override {
    return TableAlgorithm::schedule(operation == "reduce_scatter" ? "all_reduce" : operation, ranks);
  }
};

const bool binomial_registered = algorithms().add(
    {"binomial", "a binomial tree: as many take part each round again; all_reduce is reduce, then broadcast",
     "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005, "
     "section 4.2 and 4.4"},
    [] { return std::make_unique<Binomial>(); });

}  // namespace
}  // namespace linkcast
