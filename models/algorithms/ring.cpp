#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

class Ring final : public ScheduleAlgorithm {
 public:
  [[nodiscard]] std::vector<std::string> operations() const override {
    return {"all_reduce", "all_gather", "reduce_scatter"};
  }
  [[nodiscard]] Schedule schedule(const std::string& operation, int ranks) const override {
    if (operation == "all_gather") return {ranks, {ring_phase(ranks, 0, false)}};
    if (operation == "reduce_scatter") return {ranks, {ring_phase(ranks, -1, true)}};
    return {ranks, {ring_phase(ranks, 0, true), ring_phase(ranks, 1, false)}};
  }
};

const bool ring_registered = algorithms().add(
    {"ring", "every part goes round, one rank further each round",
     "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005, "
     "section 4.1; Patarasu, Yuan: Bandwidth Optimal All-reduce Algorithms, JPDC 69(2), 2009"},
    [] { return std::make_unique<Ring>(); });

}  // namespace
}  // namespace linkcast
