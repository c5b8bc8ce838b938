// Flows of trunks: what they share counts as a sum, and they end as if each crossed its links by itself.
#include "sim/engine/trunks.hpp"

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/engine/check.hpp"
#include "sim/engine/many_flows.hpp"
#include "sim/engine/run_events.hpp"
#include "sim/engine/solvers.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::trunks_test {

namespace {

class Draws {
 public:
  explicit Draws(unsigned seed) : engine_(seed) {}
  int below(int end) { return static_cast<int>(engine_() % static_cast<unsigned>(end)); }
  double between(double low, double high) { return low + (high - low) * engine_() * 0x1p-32; }
  /// As many between 1 and 2 as between 10 and 20.
  double scaled(double low, double high) { return low * std::pow(high / low, between(0, 1)); }

 private:
  std::mt19937 engine_;  // 32 bits a draw
};

int add_link(Problem& problem, double capacity_Bps) {
  problem.capacity_Bps.push_back(capacity_Bps);
  return static_cast<int>(problem.capacity_Bps.size()) - 1;
}

/// Between all pairs of ranks of four switches: ports of their own, and trunks over links that several trunks cross.
/// @param alike  all messages have one size, so that ends fall together
Problem between_switches(Draws& draws, int ranks, bool alike) {
  Problem problem;
  std::vector<int> out, in, middle;
  for (int rank = 0; rank < ranks; ++rank) {
    out.push_back(add_link(problem, draws.between(10e9, 25e9)));
    in.push_back(add_link(problem, draws.between(10e9, 25e9)));
  }
  for (int k = 0; k < 10; ++k) middle.push_back(add_link(problem, draws.scaled(2e9, 200e9)));
  constexpr int kSwitches = 4;
  for (int pair = 0; pair < kSwitches * kSwitches; ++pair) {
    std::vector<Use>& trunk = problem.trunks.emplace_back();
    for (const int link : middle)
      if (pair % (kSwitches + 1) != 0 && draws.below(3) == 0) trunk.push_back({link, draws.below(2) == 0 ? 0.25 : 0.5});
  }
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      Activity flow;
      flow.work_B = alike ? 1 << 18 : draws.scaled(1 << 18, 1 << 20);
      flow.delay_s = 1e-6 * draws.below(5);
      if (draws.below(10) == 0) flow.rate_cap_Bps = draws.scaled(1e8, 1e10);
      flow.uses = {{out[at(from)], 1}, {in[at(to)], 1}};
      if (from % kSwitches != to % kSwitches) flow.trunk = kSwitches * (from % kSwitches) + to % kSwitches;
      problem.activities.push_back(std::move(flow));
    }
  return problem;
}

Solution one_by_one(const Problem& problem) {
  FluidSolver solver;
  const Problem plain = without_trunks(problem);
  solver.load(plain);
  run_events(solver);
  return solver.take_solution();
}

double worst(const Solution& found, const Solution& exact) {
  double most = 0;
  for (std::size_t f = 0; f < exact.finish_s.size(); ++f)
    most = std::max(most, std::abs(found.finish_s[f] / exact.finish_s[f] - 1));
  return most;
}

}  // namespace

TEST_CASE("trunks: flows end as those that cross the same links by themselves", "[physics]") {
  double of_trunks = 0, by_links = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    Draws draws(seed);
    const Problem problem = between_switches(draws, 26 + draws.below(8), false), plain = without_trunks(problem);
    REQUIRE(ManyFlows::takes(problem));
    REQUIRE(plain.trunks.empty());
    const Solution found = ManyFlows().run(problem), exact = one_by_one(problem);
    CHECK_NOTHROW(check_solution(plain, found));
    of_trunks = std::max(of_trunks, worst(found, exact));
    by_links = std::max(by_links, worst(ManyFlows().run(plain), exact));
    CHECK(std::abs(found.makespan_s / exact.makespan_s - 1) < ManyFlows::kLate / 2);
  }
  // sharing late moves ends as far as without trunks; source: docs/performance.md, which has these figures
  CHECK(by_links < 7e-3);
  CHECK(of_trunks < 7e-3);
  CHECK(std::abs(of_trunks - by_links) < 5e-4);
}

TEST_CASE("trunks: where rates are shared out at each end nothing differs but rounding", "[physics]") {
  int exact_runs = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Draws draws(seed);
    Problem problem = between_switches(draws, 26, true);
    for (Activity& flow : problem.activities) flow.delay_s = 1e-6;
    // all ranks' ports alike: what ends, ends together
    for (int port = 0; port < 52; ++port) problem.capacity_Bps[at(port)] = 20e9;
    for (Activity& flow : problem.activities) flow.rate_cap_Bps = 1e10;
    const Solution found = ManyFlows().run(problem), exact = one_by_one(problem);
    if (found.late_shares > 0) continue;
    ++exact_runs;
    CHECK(worst(found, exact) < kExact);
    for (std::size_t c = 0; c < problem.capacity_Bps.size(); ++c)
      if (exact.carried_B[c] > 0) CHECK_THAT(found.carried_B[c], WithinRel(exact.carried_B[c], kExact));
  }
  CHECK(exact_runs > 10);
}

TEST_CASE("trunks: a solver that knows none runs what each flow uses by itself", "[physics]") {
  Problem problem{{10, 4, 100}, 0, {}};
  problem.trunks = {{{1, 0.5}, {2, 1}}};
  for (int i = 0; i < 2; ++i) {
    Activity flow;
    flow.work_B = 8;
    flow.uses = {{0, 1}};
    flow.trunk = 0;
    problem.activities.push_back(flow);
  }
  for (const char* name : {"fluid", "native"}) {
    INFO(name);
    const Solution found = make_solver(name)->run(problem);
    CHECK_THAT(found.makespan_s, WithinRel(2.0, kExact));  // 2 x 0.5 x rate = 4 B/s
    CHECK(found.limited_by == std::vector<int>{1, 1});
    CHECK_THAT(found.carried_B[1], WithinRel(8.0, kExact));
  }
  FluidSolver engine;
  CHECK_THROWS_AS(engine.load(problem), InvariantError);
}

TEST_CASE("trunks: those that no solver can run are refused", "[physics]") {
  Problem problem{{10, 4}, 0, {}};
  problem.trunks = {{{1, 0.5}}};
  problem.activities.emplace_back();
  problem.activities[0].uses = {{0, 1}};
  problem.activities[0].trunk = 0;
  CHECK_NOTHROW(check_problem(problem));
  const auto refused = [&](const char* why, const auto& spoil) {
    INFO(why);
    Problem spoilt = problem;
    spoil(spoilt);
    CHECK_THROWS_WITH(check_problem(spoilt), why);
  };
  refused("activity 0: uses trunk 1 of 1", [](Problem& one) { one.activities[0].trunk = 1; });
  refused("activity 0: uses constraint 1, which is of trunks", [](Problem& one) { one.activities[0].uses = {{1, 1}}; });
  refused("trunk 0: uses constraint 2 of 2", [](Problem& one) { one.trunks[0] = {{2, 1}}; });
  refused("trunk 0: uses constraint 1 twice", [](Problem& one) { one.trunks[0] = {{1, 1}, {1, 1}}; });
  Solution early{{0}, {1}, {10, 5}, {kOwnCap}, 1};  // 10 B over 4 B/s at half weight take 1.25 s
  problem.activities[0].work_B = 10;
  CHECK_THROWS_AS(check_solution(problem, early), InvariantError);
}

}  // namespace linkcast::test::trunks_test
