#include "models/algorithms/phases.hpp"

#include <algorithm>

namespace linkcast {

std::vector<std::string> TableAlgorithm::operations() const {
  std::vector<std::string> names;
  for (const OperationSchedule& row : rows_) names.emplace_back(row.operation);
  return names;
}

Schedule TableAlgorithm::schedule(const std::string& operation, int ranks) const {
  for (const OperationSchedule& row : rows_)
    if (row.operation == operation) return row.on(ranks);
  return Algorithm::schedule(operation, ranks);  // no such rounds
}

Fold::Fold(int ranks) : ranks(ranks) {
  for (; 2 * power <= ranks; power *= 2) ++rounds;
  extra = ranks - power;
}

int doublings(int n) {
  int rounds = 0;
  while ((1 << rounds) < n) ++rounds;
  return rounds;
}

ScheduledMessage message_of(int from, int to, int first, int count, int total, bool combines, bool blocks) {
  ScheduledMessage message{from, to, static_cast<double>(count) / total, combines};
  for (int i = 0; blocks && i < count; ++i) message.blocks.push_back(wrapped(first + i, total));
  return message;
}

namespace {

Phase fold_phase(const Fold& fold, const FoldedBlocks& what, bool in, bool combines) {
  Phase phase;
  phase.rounds = fold.extra > 0 ? 1 : 0;
  phase.add = [=](int /*round*/, bool blocks, std::vector<ScheduledMessage>& out) {
    for (int v = 0; v < fold.extra; ++v) {
      const int folded = 2 * v + 1, into = 2 * v;
      out.push_back(message_of(in ? folded : into, in ? into : folded, what.own ? folded + what.shift : 0, what.count,
                               what.total, combines, blocks));
    }
  };
  return phase;
}

}  // namespace

Phase fold_in(const Fold& fold, const FoldedBlocks& what, bool combines) {
  return fold_phase(fold, what, true, combines);
}

Phase fold_out(const Fold& fold, const FoldedBlocks& what) { return fold_phase(fold, what, false, false); }

Phase ring_phase(int ranks, int lead, bool combines) {
  Phase phase;
  phase.rounds = ranks - 1;
  phase.alike = true;
  phase.add = [=](int round, bool blocks, std::vector<ScheduledMessage>& out) {
    for (int r = 0; r < ranks; ++r)
      out.push_back(message_of(r, (r + 1) % ranks, r + lead - round, 1, ranks, combines, blocks));
  };
  return phase;
}

Phase binomial_phase(int ranks, bool down, int whole, bool combines) {
  Phase phase;
  phase.rounds = doublings(ranks);
  phase.add = [=](int round, bool blocks, std::vector<ScheduledMessage>& out) {
    const int distance = 1 << (down ? doublings(ranks) - 1 - round : round);
    for (int upper = 0; upper + distance < ranks; upper += 2 * distance) {
      const int lower = upper + distance;
      const int count = whole > 0 ? whole : std::min(distance, ranks - lower);
      out.push_back(message_of(down ? upper : lower, down ? lower : upper, whole > 0 ? 0 : lower, count,
                               whole > 0 ? whole : ranks, combines, blocks));
    }
  };
  return phase;
}

Phase pairwise_phase(int ranks, bool combines) {
  Phase phase;
  phase.rounds = ranks - 1;
  phase.add = [=](int round, bool blocks, std::vector<ScheduledMessage>& out) {
    for (int r = 0; r < ranks; ++r) {
      const int to = (r + round + 1) % ranks;
      out.push_back(message_of(r, to, to, 1, ranks, combines, blocks));
    }
  };
  return phase;
}

Schedule alltoall(int ranks, int at_once) {
  Phase phase;
  phase.rounds = ranks - 1;
  phase.at_once = at_once;
  phase.add = [ranks](int round, bool blocks, std::vector<ScheduledMessage>& out) {
    for (int r = 0; r < ranks; ++r) {
      const int to = (r + round + 1) % ranks;
      out.push_back({r, to, 1.0 / ranks, false});
      if (blocks) out.back().blocks = {r * ranks + to};
    }
  };
  return {ranks * ranks, {phase}};
}

Phase halving_phase(const Fold& fold, const std::vector<int>& first, int total) {
  Phase phase;
  phase.rounds = fold.rounds;
  phase.add = [=](int round, bool blocks, std::vector<ScheduledMessage>& out) {
    const int half = fold.power >> (round + 1);
    for (int v = 0; v < fold.power; ++v) {
      const int peer = v ^ half, begin = peer / half * half;
      const int from = first[static_cast<std::size_t>(begin)], to = first[static_cast<std::size_t>(begin + half)];
      out.push_back(message_of(fold.rank(v), fold.rank(peer), from, to - from, total, true, blocks));
    }
  };
  return phase;
}

Phase doubling_phase(const Fold& fold, const std::vector<int>& first, int total) {
  Phase phase;
  phase.rounds = fold.rounds;
  phase.add = [=](int round, bool blocks, std::vector<ScheduledMessage>& out) {
    const int held = 1 << round;
    for (int v = 0; v < fold.power; ++v) {
      const int begin = v / held * held;
      const int from = first[static_cast<std::size_t>(begin)], to = first[static_cast<std::size_t>(begin + held)];
      out.push_back(message_of(fold.rank(v), fold.rank(v ^ held), from, to - from, total, false, blocks));
    }
  };
  return phase;
}

std::vector<int> first_blocks(const Fold& fold, bool of_ranks) {
  std::vector<int> first;
  for (int v = 0; v <= fold.power; ++v) first.push_back(of_ranks ? fold.first(v) : v);
  return first;
}

}  // namespace linkcast
