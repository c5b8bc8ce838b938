#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

class Binomial final : public Algorithm {
 public:
  [[nodiscard]] std::vector<std::string> operations() const override {
    return {"all_reduce", "broadcast", "gather", "reduce", "scatter"};
  }
  [[nodiscard]] Schedule schedule(const std::string& operation, int ranks) const override {
    if (operation == "gather") return {ranks, {binomial_phase(ranks, false, false, false)}};
    if (operation == "scatter") return {ranks, {binomial_phase(ranks, true, false, false)}};
    const Phase reduce = binomial_phase(ranks, false, true, true), broadcast = binomial_phase(ranks, true, true, false);
    if (operation == "reduce") return {1, {reduce}};
    if (operation == "broadcast") return {1, {broadcast}};
    return {1, {reduce, broadcast}};
  }
};

const bool binomial_registered = algorithms().add(
    {"binomial", "a binomial tree: as many take part each round again; all_reduce is reduce, then broadcast",
     "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005, "
     "section 4.2 and 4.4"},
    [] { return std::make_unique<Binomial>(); });

}  // namespace
}  // namespace linkcast
