#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

class Linear final : public Algorithm {
 public:
  [[nodiscard]] std::vector<std::string> operations() const override {
    return {"all_gather", "alltoall", "broadcast", "gather", "reduce", "scatter", "sendrecv"};
  }
  [[nodiscard]] Schedule schedule(const std::string& operation, int ranks) const override {
    if (operation == "alltoall") return alltoall(ranks, ranks);
    Phase phase;
    phase.rounds = operation == "sendrecv" ? 1 : ranks - 1;
    phase.at_once = operation == "reduce" ? 1 : ranks;
    phase.add = [=](int round, bool blocks, std::vector<ScheduledMessage>& out) {
      if (operation == "sendrecv" || operation == "all_gather") {
        const int total = operation == "sendrecv" ? 1 : ranks;
        for (int r = 0; r < ranks; ++r)
          out.push_back(message_of(r, (r + round + 1) % ranks, r, 1, total, false, blocks));
        return;
      }
      const bool parts = operation == "gather" || operation == "scatter";
      const bool down = operation == "broadcast" || operation == "scatter";
      const int other = round + 1;
      out.push_back(message_of(down ? 0 : other, down ? other : 0, parts ? other : 0, 1, parts ? ranks : 1,
                               operation == "reduce", blocks));
    };
    const bool whole = operation == "sendrecv" || operation == "broadcast" || operation == "reduce";
    return {whole ? 1 : ranks, {phase}};
  }
};

const bool linear_registered = algorithms().add(
    {"linear", "every message straight to its target, all posted at once (reduce: one after the other)",
     "Open MPI 4.1.4, ompi/mca/coll/base: basic_linear"},
    [] { return std::make_unique<Linear>(); });

}  // namespace
}  // namespace linkcast
