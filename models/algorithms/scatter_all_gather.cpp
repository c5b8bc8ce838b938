#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

class ScatterAllGather final : public Algorithm {
 public:
  [[nodiscard]] std::vector<std::string> operations() const override { return {"broadcast"}; }
  [[nodiscard]] Schedule schedule(const std::string& /*operation*/, int ranks) const override {
    return {ranks, {binomial_phase(ranks, true, 0, false), ring_phase(ranks, 0, false)}};
  }
};

const bool scatter_all_gather_registered = algorithms().add(
    {"scatter_all_gather", "binomial scatter, then all-gather by a ring",
     "Barnett et al.: Interprocessor collective communication library (InterCom), SHPCC 1994; Thakur, Rabenseifner, "
     "Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005, section 4.2"},
    [] { return std::make_unique<ScatterAllGather>(); });

}  // namespace
}  // namespace linkcast
