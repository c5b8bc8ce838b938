// Every algorithm moves the right blocks: the data are followed rank by rank, and bytes and rounds are the closed
// forms.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "sim/forecast/algorithm.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::schedule_test {

namespace {

/// What a rank has of each block: how often each rank's contribution is in it; none: it does not hold the block.
using Held = std::vector<std::map<int, int>>;

bool reduces(const std::string& op) { return op.find("reduce") != std::string::npos; }

Held begin_of(const std::string& op, int rank, int ranks, int blocks) {
  Held held(static_cast<std::size_t>(blocks));
  for (int b = 0; b < blocks; ++b) {
    const bool has = reduces(op)                            ? true
                     : op == "alltoall"                     ? b / ranks == rank
                     : op == "broadcast" || op == "scatter" ? rank == 0
                                                            : b == rank;
    if (has) held[static_cast<std::size_t>(b)][reduces(op) ? rank : -1] = 1;
  }
  return held;
}

bool must_end_with(const std::string& op, int rank, int ranks, int block) {
  if (op == "all_reduce" || op == "all_gather" || op == "broadcast") return true;
  if (op == "reduce" || op == "gather") return rank == 0;
  if (op == "alltoall") return block % ranks == rank;
  return block == rank;  // reduce_scatter, scatter
}

/// The messages of some rounds, all sent from what the ranks have before them.
void pass(const std::vector<ScheduledMessage>& messages, std::vector<Held>& ranks) {
  const std::vector<Held> before = ranks;
  for (const ScheduledMessage& m : messages) {
    REQUIRE(m.from != m.to);
    for (const int block : m.blocks) {
      const auto b = static_cast<std::size_t>(block);
      const std::map<int, int>& sent = before[static_cast<std::size_t>(m.from)][b];
      REQUIRE_FALSE(sent.empty());
      std::map<int, int>& got = ranks[static_cast<std::size_t>(m.to)][b];
      if (!m.combines)
        got = sent;
      else
        for (const auto& [rank, times] : sent) got[rank] += times;
    }
  }
}

std::vector<Held> follow(const Schedule& schedule, const std::string& op, int ranks) {
  std::vector<Held> held;
  for (int r = 0; r < ranks; ++r) held.push_back(begin_of(op, r, ranks, schedule.blocks));
  const double block = op == "alltoall" ? 1.0 / ranks : 1.0 / schedule.blocks;
  for (const Phase& phase : schedule.phases)
    for (int first = 0; first < phase.rounds; first += phase.at_once) {
      std::vector<ScheduledMessage> messages;
      for (int round = first; round < std::min(phase.rounds, first + phase.at_once); ++round)
        phase.add(round, true, messages);
      for (const ScheduledMessage& m : messages)
        CHECK_THAT(m.share, WithinRel(block * static_cast<double>(m.blocks.size()), 1e-12));
      pass(messages, held);
    }
  return held;
}

/// Rounds, and what the busiest rank sends, in sizes.
struct Totals {
  int rounds = 0;
  double sent = 0;
};

Totals totals(const std::string& algorithm, const std::string& op, int ranks) {
  const Schedule schedule = algorithms().get(algorithm).schedule(op, ranks);
  Totals found;
  std::vector<double> sent(static_cast<std::size_t>(ranks), 0);
  for (const Phase& phase : schedule.phases) {
    found.rounds += phase.rounds;
    for (int round = 0; round < phase.rounds; ++round) {
      std::vector<ScheduledMessage> messages;
      phase.add(round, false, messages);
      for (const ScheduledMessage& m : messages) sent[static_cast<std::size_t>(m.from)] += m.share;
    }
  }
  found.sent = *std::max_element(sent.begin(), sent.end());
  return found;
}

void check_totals(const std::string& algorithm, const std::string& op, int ranks, int rounds, double sent) {
  INFO(algorithm << " " << op << " " << ranks);
  const Totals found = totals(algorithm, op, ranks);
  CHECK(found.rounds == rounds);
  CHECK_THAT(found.sent, WithinRel(sent, 1e-12));
}

int ceil_log2(int n) { return static_cast<int>(std::ceil(std::log2(n))); }

}  // namespace

TEST_CASE("every algorithm ends with what its operation promises", "[unit][schedule]") {
  for (const PluginInfo& info : algorithms().list())
    for (const std::string& op : algorithms().get(info.name).operations()) {
      if (op == "sendrecv") continue;  // it moves whole buffers of different ranks: nothing to follow
      for (int ranks = 2; ranks <= 17; ++ranks) {
        INFO(info.name << " " << op << " " << ranks);
        const Schedule schedule = algorithms().get(info.name).schedule(op, ranks);
        const std::vector<Held> held = follow(schedule, op, ranks);
        std::map<int, int> whole;
        for (int r = 0; r < ranks; ++r) whole[reduces(op) ? r : -1] = 1;
        for (int r = 0; r < ranks; ++r)
          for (int b = 0; b < schedule.blocks; ++b)
            if (must_end_with(op, r, ranks, b))
              REQUIRE(held[static_cast<std::size_t>(r)][static_cast<std::size_t>(b)] == whole);
      }
    }
}

TEST_CASE("rounds that are alike have the same messages", "[unit][schedule]") {
  for (const PluginInfo& info : algorithms().list())
    for (const std::string& op : algorithms().get(info.name).operations())
      for (const Phase& phase : algorithms().get(info.name).schedule(op, 6).phases) {
        if (!phase.alike) continue;
        std::set<std::vector<std::tuple<int, int, double, bool>>> kinds;
        for (int round = 0; round < phase.rounds; ++round) {
          std::vector<ScheduledMessage> messages;
          phase.add(round, false, messages);
          std::vector<std::tuple<int, int, double, bool>> kind;
          for (const ScheduledMessage& m : messages) kind.emplace_back(m.from, m.to, m.share, m.combines);
          kinds.insert(kind);
        }
        CHECK(kinds.size() == 1);
      }
}

// source of the forms: Thakur, Rabenseifner, Gropp 2005; Bruck et al. 1997
TEST_CASE("rounds and bytes are the closed forms", "[unit][schedule]") {
  for (const int n : {2, 4, 8, 16}) {
    const int log = ceil_log2(n);
    const double part = (n - 1.0) / n;
    check_totals("recursive_doubling", "all_reduce", n, log, log);
    check_totals("recursive_doubling", "all_gather", n, log, part);
    check_totals("recursive_halving", "reduce_scatter", n, log, part);
    check_totals("rabenseifner", "all_reduce", n, 2 * log, 2 * part);
    check_totals("bruck", "alltoall", n, log, 0.5 * log);
    check_totals("swing", "all_reduce", n, 2 * log, 2 * part);
  }
  for (int n = 2; n <= 17; ++n) {
    const double part = (n - 1.0) / n;
    check_totals("ring", "all_reduce", n, 2 * (n - 1), 2 * part);
    check_totals("ring", "all_gather", n, n - 1, part);
    check_totals("ring", "reduce_scatter", n, n - 1, part);
    check_totals("pairwise", "alltoall", n, n - 1, part);
    check_totals("pairwise", "reduce_scatter", n, n - 1, part);
    check_totals("linear", "alltoall", n, n - 1, part);
    check_totals("scattered", "alltoall", n, n - 1, part);
    check_totals("bruck", "all_gather", n, ceil_log2(n), part);
    check_totals("binomial", "broadcast", n, ceil_log2(n), ceil_log2(n));  // by the root
    check_totals("binomial", "reduce", n, ceil_log2(n), 1);
    check_totals("binomial", "scatter", n, ceil_log2(n), part);
    check_totals("scatter_all_gather", "broadcast", n, ceil_log2(n) + n - 1, 2 * part);
  }
  // What is no power of two joins first and gets the result last.
  check_totals("recursive_doubling", "all_reduce", 6, 4, 3);
  check_totals("rabenseifner", "all_reduce", 6, 6, 2 * 0.75 + 1);
  check_totals("swing", "all_reduce", 6, 6, 2 * 0.75 + 1);
}

// source: De Sensi et al., NSDI 2024, section 3: rho(s) = (1 - (-2)^(s + 1)) / 3, rank r with r + rho(s) or r - rho(s)
TEST_CASE("swing's partners are 1, 1, 3, 5, 11 ranks away, on alternating sides", "[unit][schedule]") {
  constexpr int kRanks = 32;
  const Schedule schedule = algorithms().get("swing").schedule("all_reduce", kRanks);
  std::vector<ScheduledMessage> messages;
  for (int s = 0; s < 5; ++s) {
    const int rho = (1 - static_cast<int>(std::lround(std::pow(-2, s + 1)))) / 3;
    CHECK(std::abs(rho) == std::vector<int>{1, 1, 3, 5, 11}[static_cast<std::size_t>(s)]);
    messages.clear();
    schedule.phases.at(1).add(s, false, messages);
    REQUIRE(messages.size() == kRanks);
    for (const ScheduledMessage& m : messages)
      CHECK(m.to == ((m.from + (m.from % 2 == 0 ? rho : -rho)) % kRanks + kRanks) % kRanks);
  }
}

}  // namespace linkcast::test::schedule_test
