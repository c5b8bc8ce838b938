#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

class Pairwise final : public TableAlgorithm {
 public:
  Pairwise()
      : TableAlgorithm({{"alltoall", [](int ranks) { return alltoall(ranks, 1); }},
                        {"reduce_scatter", [](int ranks) {
                           return Schedule{ranks, {pairwise_phase(ranks, true)}};
                         }}}) {}
};

const bool pairwise_registered =
    algorithms().add({"pairwise", "round k: every rank sends to the one k further",
                      "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication "
                      "Operations in MPICH, IJHPCA 19(1), 2005, section 4.3 and 4.6"},
                     [] { return std::make_unique<Pairwise>(); });

}  // namespace
}  // namespace linkcast
