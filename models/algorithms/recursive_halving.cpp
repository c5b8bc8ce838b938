#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

class RecursiveHalving final : public Algorithm {
 public:
  [[nodiscard]] std::vector<std::string> operations() const override { return {"reduce_scatter"}; }
  [[nodiscard]] Schedule schedule(const std::string& /*operation*/, int ranks) const override {
    const Fold fold(ranks);
    return {ranks,
            {fold_in(fold, {ranks, ranks, false, 0}, true), halving_phase(fold, first_blocks(fold, true), ranks),
             fold_out(fold, {1, ranks, true, 0})}};
  }
};

const bool recursive_halving_registered =
    algorithms().add({"recursive_halving", "partners at half the distance each round exchange half of what is left",
                      "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, "
                      "IJHPCA 19(1), 2005, section 4.3"},
                     [] { return std::make_unique<RecursiveHalving>(); });

}  // namespace
}  // namespace linkcast
