#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

/// @param blocks  that the buffer has
Phase binomial_reduce(int ranks, int blocks = 1) { return binomial_phase(ranks, false, blocks, true); }
Phase binomial_broadcast(int ranks) { return binomial_phase(ranks, true, 1, false); }
Phase binomial_scatter(int ranks) { return binomial_phase(ranks, true, 0, false); }

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
                           return Schedule{ranks, {binomial_phase(ranks, false, 0, false)}};
                         }},
                        {"reduce",
                         [](int ranks) {
                           return Schedule{1, {binomial_reduce(ranks)}};
                         }},
                        // Open MPI's "basic_linear" of reduce_scatter_block and "non-overlapping" of reduce_scatter
                        {"reduce_scatter",
                         [](int ranks) {
                           return Schedule{ranks, {binomial_reduce(ranks, ranks), binomial_scatter(ranks)}};
                         }},
                        {"scatter", [](int ranks) {
                           return Schedule{ranks, {binomial_scatter(ranks)}};
                         }}}) {}
};

const bool binomial_registered = algorithms().add(
    {"binomial",
     "a binomial tree: as many take part each round again; all_reduce is reduce, then broadcast, "
     "reduce_scatter reduce, then scatter",
     "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005, "
     "section 4.2 and 4.4; Open MPI, ompi/mca/coll/base/coll_base_reduce_scatter.c"},
    [] { return std::make_unique<Binomial>(); });

}  // namespace
}  // namespace linkcast
