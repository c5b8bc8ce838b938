#include <algorithm>
#include <utility>

#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

Schedule bruck_all_gather(int ranks) {
  Phase phase;
  phase.rounds = doublings(ranks);
  phase.add = [ranks](int round, bool blocks, std::vector<ScheduledMessage>& out) {
    const int held = 1 << round, count = std::min(held, ranks - held);
    for (int r = 0; r < ranks; ++r)
      out.push_back(message_of(r, wrapped(r - held, ranks), r, count, ranks, false, blocks));
  };
  return {ranks, {phase}};
}

Schedule bruck_alltoall(int ranks) {
  Phase phase;
  phase.rounds = doublings(ranks);
  phase.add = [ranks](int round, bool blocks, std::vector<ScheduledMessage>& out) {
    const int step = 1 << round;
    int count = 0;
    for (int distance = 1; distance < ranks; ++distance) count += (distance & step) != 0 ? 1 : 0;
    for (int r = 0; r < ranks; ++r) {
      ScheduledMessage message{r, (r + step) % ranks, static_cast<double>(count) / ranks};
      for (int distance = 1; blocks && distance < ranks; ++distance) {
        if ((distance & step) == 0) continue;
        const int source = wrapped(r - (distance & (step - 1)), ranks);  // it has gone the lower bits already
        message.blocks.push_back(source * ranks + (source + distance) % ranks);
      }
      out.push_back(std::move(message));
    }
  };
  return {ranks * ranks, {phase}};
}

class Bruck final : public TableAlgorithm {
 public:
  Bruck() : TableAlgorithm({{"all_gather", bruck_all_gather}, {"alltoall", bruck_alltoall}}) {}
};

const bool bruck_registered = algorithms().add(
    {"bruck", "in round k every rank passes on what has bit k of its distance to go",
     "Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All Communications, IEEE TPDS 8(11), 1997"},
    [] { return std::make_unique<Bruck>(); });

}  // namespace
}  // namespace linkcast
