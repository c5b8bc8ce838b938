#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

class Pairwise final : public Algorithm {
 public:
  [[nodiscard]] std::vector<std::string> operations() const override { return {"alltoall", "reduce_scatter"}; }
  [[nodiscard]] Schedule schedule(const std::string& operation, int ranks) const override {
    if (operation == "reduce_scatter") return {ranks, {pairwise_phase(ranks, true)}};
    return alltoall(ranks, 1);
  }
};

const bool pairwise_registered =
    algorithms().add({"pairwise", "round k: every rank sends to the one k further",
                      "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication "
                      "Operations in MPICH, IJHPCA 19(1), 2005, section 4.3 and 4.6"},
                     [] { return std::make_unique<Pairwise>(); });

}  // namespace
}  // namespace linkcast
