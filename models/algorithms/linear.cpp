#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

/// Every rank to those after it.
Schedule linear_shifts(int ranks, int rounds, int total) {
  Phase phase;
  phase.rounds = rounds;
  phase.at_once = ranks;
  phase.add = [=](int round, bool blocks, std::vector<ScheduledMessage>& out) {
    for (int r = 0; r < ranks; ++r) out.push_back(message_of(r, (r + round + 1) % ranks, r, 1, total, false, blocks));
  };
  return {total, {phase}};
}

struct LinearRoot {
  bool down = false, parts = false, combines = false;
};
/// Between the root and each other rank.
Schedule linear_rooted(int ranks, LinearRoot what) {
  const int total = what.parts ? ranks : 1;
  Phase phase;
  phase.rounds = ranks - 1;
  phase.at_once = what.combines ? 1 : ranks;
  phase.add = [=](int round, bool blocks, std::vector<ScheduledMessage>& out) {
    const int other = round + 1;
    out.push_back(message_of(what.down ? 0 : other, what.down ? other : 0, what.parts ? other : 0, 1, total,
                             what.combines, blocks));
  };
  return {total, {phase}};
}

class Linear final : public TableAlgorithm {
 public:
  Linear()
      : TableAlgorithm({{"all_gather", [](int ranks) { return linear_shifts(ranks, ranks - 1, ranks); }},
                        {"alltoall", [](int ranks) { return alltoall(ranks, ranks); }},
                        {"broadcast", [](int ranks) { return linear_rooted(ranks, {.down = true}); }},
                        {"gather", [](int ranks) { return linear_rooted(ranks, {.parts = true}); }},
                        {"reduce", [](int ranks) { return linear_rooted(ranks, {.combines = true}); }},
                        {"scatter", [](int ranks) { return linear_rooted(ranks, {.down = true, .parts = true}); }},
                        {"sendrecv", [](int ranks) { return linear_shifts(ranks, 1, 1); }}}) {}
};

const bool linear_registered = algorithms().add(
    {"linear", "every message straight to its target, all posted at once (reduce: one after the other)",
     "Open MPI 4.1.4, ompi/mca/coll/base: basic_linear"},
    [] { return std::make_unique<Linear>(); });

}  // namespace
}  // namespace linkcast
