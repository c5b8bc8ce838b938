// Random problems: the two solvers against each other, and symmetries that any solver must keep.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/engine/solvers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/solve.hpp"

namespace linkcast::test::engine_random_test {

namespace {

// source: our choice for the physics suite, far below any measured effect

void add_uses(Dice& dice, int constraints, Activity& activity) {
  const int hops = dice.below(std::min(constraints, 6) + 1);
  std::vector<int> order(static_cast<std::size_t>(constraints));
  std::iota(order.begin(), order.end(), 0);
  for (int hop = 0; hop < hops; ++hop) {
    const auto at = static_cast<std::size_t>(hop);
    std::swap(order[at], order[at + static_cast<std::size_t>(dice.below(constraints - hop))]);
    activity.uses.push_back({order[at], 1.0 + dice.below(2)});
  }
}

/// A directed acyclic graph of up to 40 activities over up to 20 constraints and 3 queues.
Problem random_problem(unsigned seed) {
  Dice dice(seed);
  Problem problem;
  const int constraints = 1 + dice.below(20);
  for (int c = 0; c < constraints; ++c) problem.capacity_Bps.push_back(dice.between(1e9, 450e9));
  problem.queue_count = dice.below(4);
  const int activities = 1 + dice.below(40);
  for (int a = 0; a < activities; ++a) {
    Activity activity;
    if (!dice.one_in(3)) activity.delay_s = dice.between(1e-7, 2e-5);
    if (!dice.one_in(8)) activity.work_B = dice.one_in(2) ? dice.between(1e3, 1e7) : 1 + dice.below(1 << 24);
    if (dice.one_in(4)) activity.rate_cap_Bps = dice.between(1e8, 1e11);
    add_uses(dice, constraints, activity);
    for (int n = dice.below(3); a > 0 && n > 0; --n) activity.after.push_back(dice.below(a));
    for (int q = 0; q < problem.queue_count; ++q) {
      if (dice.one_in(4)) activity.queues.push_back(q);
    }
    problem.activities.push_back(std::move(activity));
  }
  return problem;
}

/// As random_problem, but all ready at once and without queues: no order that a tie could decide.
Problem random_flows(unsigned seed) {
  Problem problem = random_problem(seed);
  problem.queue_count = 0;
  for (Activity& activity : problem.activities) {
    activity.after.clear();
    activity.queues.clear();
  }
  return problem;
}

void require_same(const std::vector<double>& left, const std::vector<double>& right, double factor) {
  REQUIRE(left.size() == right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    INFO("entry " << i);
    CHECK_THAT(left[i], WithinRel(right[i] * factor, kExact));
  }
}

void require_agreement(const Problem& problem) {
  const Solution fluid = solve("fluid", problem);
  const Solution native = solve("native", problem);
  require_same(fluid.start_s, native.start_s, 1);
  require_same(fluid.finish_s, native.finish_s, 1);
  require_same(fluid.carried_B, native.carried_B, 1);
}

}  // namespace

TEST_CASE("fluid and native agree on random problems", "[physics]") {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    INFO("seed " << seed);
    require_agreement(random_problem(seed));
  }
}

TEST_CASE("fluid and native agree where weights are fractions, short ones and others", "[physics]") {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    Problem problem = random_problem(seed);
    int number = static_cast<int>(seed);
    for (Activity& activity : problem.activities)
      for (Use& use : activity.uses)
        if (++number % 3 != 0)
          use.weight = seed % 3 == 0 ? (1 + number % 20) / 7.0 : 0.01 + 3 * std::abs(std::sin(number));
    require_agreement(problem);
  }
}

TEST_CASE("a run leaves no trace in the next", "[physics]") {
  const auto used = make_solver("fluid");
  for (unsigned seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    const Problem problem = random_problem(seed);
    const Solution first = make_solver("fluid")->run(problem);
    const Solution again = used->run(problem);
    CHECK(first.start_s == again.start_s);
    CHECK(first.finish_s == again.finish_s);
    CHECK(first.carried_B == again.carried_B);
    CHECK(first.limited_by == again.limited_by);
  }
}

TEST_CASE("twice the capacities take half the time", "[physics]") {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    Problem problem = random_problem(seed);
    const Solution slow = solve("fluid", problem);
    for (double& capacity_Bps : problem.capacity_Bps) capacity_Bps *= 2;
    for (Activity& activity : problem.activities) {
      activity.rate_cap_Bps *= 2;
      activity.delay_s /= 2;
    }
    require_same(solve("fluid", problem).finish_s, slow.finish_s, 0.5);
  }
}

TEST_CASE("names of constraints and flows do not matter", "[physics]") {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    const Problem problem = random_flows(seed);
    Problem reversed = problem;
    std::reverse(reversed.capacity_Bps.begin(), reversed.capacity_Bps.end());
    std::reverse(reversed.activities.begin(), reversed.activities.end());
    const int last = static_cast<int>(problem.capacity_Bps.size()) - 1;
    for (Activity& activity : reversed.activities) {
      for (Use& use : activity.uses) use.constraint = last - use.constraint;
    }
    Solution mirrored = solve("fluid", reversed);
    std::reverse(mirrored.finish_s.begin(), mirrored.finish_s.end());
    require_same(mirrored.finish_s, solve("fluid", problem).finish_s, 1);
  }
}

TEST_CASE("more bytes never end earlier on one constraint", "[physics]") {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    Problem problem = random_flows(seed);
    for (Activity& activity : problem.activities) activity.uses = {{0, 1}};
    const Solution before = solve("fluid", problem);
    problem.activities[0].work_B *= 1.5;
    const Solution after = solve("fluid", problem);
    for (std::size_t a = 0; a < before.finish_s.size(); ++a) {
      CHECK(after.finish_s[a] >= before.finish_s[a] * (1 - kExact));
    }
  }
}

TEST_CASE("bytes are conserved on every constraint", "[physics]") {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    const Problem problem = random_problem(seed);
    std::vector<double> expected_B(problem.capacity_Bps.size(), 0);
    for (const Activity& activity : problem.activities) {
      for (const Use& use : activity.uses) {
        expected_B[static_cast<std::size_t>(use.constraint)] += use.weight * activity.work_B;
      }
    }
    require_same(solve("fluid", problem).carried_B, expected_B, 1);
  }
}

}  // namespace linkcast::test::engine_random_test
