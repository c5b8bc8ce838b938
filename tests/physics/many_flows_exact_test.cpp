// Many flows whose ends fall together, so that rates are shared out at each: they must be those of a run flow by flow,
// whatever their weights, caps and starts. And where flows meet: bounds, links that count for nothing, members.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "sim/engine/check.hpp"
#include "sim/engine/flow_links.hpp"
#include "sim/engine/many_flows.hpp"
#include "sim/engine/run_events.hpp"
#include "sim/engine/solvers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/plain_sharing.hpp"

namespace linkcast::test::many_flows_exact_test {

namespace {

constexpr double kWeights[] = {0.25, 0.5, 0.75, 1, 2, 3};
constexpr int kKinds = 12, kOfAKind = 50;

Activity flow(double work_B, std::vector<Use> uses, double cap_Bps = std::numeric_limits<double>::infinity()) {
  Activity activity;
  activity.work_B = work_B;
  activity.uses = std::move(uses);
  activity.rate_cap_Bps = cap_Bps;
  return activity;
}

/// One flow of each kind; all meet on the first constraint.
Problem kinds(Dice& dice) {
  Problem problem;
  const int constraints = 4 + dice.below(5);
  for (int c = 0; c < constraints; ++c) problem.capacity_Bps.push_back(dice.between(20, 400));
  problem.capacity_Bps[0] = dice.between(100, 1000);
  for (int kind = 0; kind < kKinds; ++kind) {
    Activity activity = flow(dice.between(1, 100), {{0, kWeights[dice.below(6)]}});
    activity.delay_s = dice.below(3);
    if (dice.one_in(2)) activity.rate_cap_Bps = dice.one_in(2) ? dice.between(0.1, 1) : dice.between(2, 40);
    for (int c = 1; c < constraints; ++c)
      if (dice.one_in(3)) activity.uses.push_back({c, kWeights[dice.below(6)]});
    std::reverse(activity.uses.begin(), activity.uses.end());
    problem.activities.push_back(std::move(activity));
  }
  return problem;
}

/// So many of each, each over a link of its own besides.
Problem many_of(Dice& dice, const Problem& kinds) {
  Problem problem{kinds.capacity_Bps, 0, {}};
  for (double& capacity_Bps : problem.capacity_Bps) capacity_Bps *= kOfAKind;
  for (const Activity& kind : kinds.activities) {
    const double own_Bps = dice.one_in(2) ? dice.between(0.5, 5) : 1e3;
    for (int i = 0; i < kOfAKind; ++i) {
      problem.activities.push_back(kind);
      problem.activities.back().uses.push_back({static_cast<int>(problem.capacity_Bps.size()), 2});
      problem.capacity_Bps.push_back(2 * own_Bps);
    }
  }
  // and some that meet no other: at their own rate, at that of their link, without bytes, without any bound
  for (const int kind : {0, 1, 2, 3}) {
    Activity alone = flow(kind == 2 ? 0 : 30, {});
    alone.delay_s = 0.5;
    if (kind == 0) alone.rate_cap_Bps = 3;
    if (kind < 3) {
      alone.uses = {{static_cast<int>(problem.capacity_Bps.size()), 2}};
      problem.capacity_Bps.push_back(kind == 1 ? 20 : 600);
    }
    problem.activities.push_back(alone);
  }
  return problem;
}

Solution flow_by_flow(const Problem& problem) {
  FluidSolver solver;
  solver.load(problem);
  run_events(solver);
  return solver.take_solution();
}

}  // namespace

TEST_CASE("many flows: kinds of flows end as they do flow by flow, limited by the same", "[physics]") {
  ManyFlows many;
  int exact_runs = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    Dice dice(seed);
    const Problem problem = many_of(dice, kinds(dice));
    REQUIRE(ManyFlows::takes(problem));
    const Solution found = many.run(problem), exact = flow_by_flow(problem);
    CHECK_NOTHROW(check_solution(problem, found));
    if (found.late_shares > 0) continue;
    ++exact_runs;
    CHECK_THAT(found.makespan_s, WithinRel(exact.makespan_s, kExact));
    for (std::size_t f = 0; f < problem.activities.size(); f += f < kKinds * kOfAKind ? kOfAKind : 1) {
      INFO("flow " << f);
      CHECK_THAT(found.finish_s[f], WithinRel(exact.finish_s[f], kExact));
      CHECK(found.limited_by[f] == exact.limited_by[f]);
    }
    const std::size_t lone = kKinds * kOfAKind;
    CHECK_THAT(found.finish_s[lone], WithinRel(0.5 + 30 / 3.0, kExact));
    CHECK_THAT(found.finish_s[lone + 1], WithinRel(0.5 + 30 / 10.0, kExact));
    CHECK_THAT(found.finish_s[lone + 2], WithinRel(0.5, kExact));
    CHECK_THAT(found.finish_s[lone + 3], WithinRel(0.5, kExact));
    CHECK(found.limited_by[lone] == kOwnCap);
  }
  CHECK(exact_runs > 50);
}

TEST_CASE("many flows: kinds of flows are those of plain sharing", "[physics]") {
  for (unsigned seed = 101; seed <= 110; ++seed) {
    INFO("seed " << seed);
    Dice dice(seed);
    const Problem few = kinds(dice);
    Problem problem{few.capacity_Bps, 0, {}};
    for (double& capacity_Bps : problem.capacity_Bps) capacity_Bps *= kOfAKind;
    for (const Activity& kind : few.activities) problem.activities.insert(problem.activities.end(), kOfAKind, kind);
    PlainSharing plain(few);
    plain.run();
    const Solution found = ManyFlows().run(problem);
    for (std::size_t kind = 0; kind < few.activities.size(); ++kind) {
      INFO("kind " << kind);
      CHECK_THAT(found.finish_s[kind * kOfAKind], WithinRel(static_cast<double>(plain.finish_s[kind]), kExact));
      PlainSharing::Real most = 0;
      for (const auto& [limit, bytes] : plain.limited_B[kind]) most = std::max(most, bytes);
      REQUIRE(plain.limited_B[kind].count(found.limited_by[kind * kOfAKind]) == 1);
      CHECK(plain.limited_B[kind].at(found.limited_by[kind * kOfAKind]) >= most * (1 - 1e-6L));
    }
  }
}

TEST_CASE("many flows: of limits that are equally tight the flow's own is named, else the lower constraint",
          "[physics]") {
  Problem problem{{600, 600}, 0, {}};
  for (int i = 0; i < 600; ++i) {
    const int own = static_cast<int>(problem.capacity_Bps.size());
    problem.activities.push_back(flow(2, {{1, 1}, {0, 1}, {own, 1}}));
    problem.capacity_Bps.push_back(1);
  }
  // 1 B/s of both constraints, of each flow's own link, and of some caps
  for (std::size_t f = 0; f < 600; f += 2) problem.activities[f].rate_cap_Bps = 1;
  const Solution found = ManyFlows().run(problem);
  for (std::size_t f = 0; f < 600; ++f) {
    CHECK(found.finish_s[f] == 2);
    CHECK(found.limited_by[f] == (f % 2 == 0 ? kOwnCap : static_cast<int>(f) + 2));
  }
  // half of the bytes by constraint 1, then, when the others have ended, by constraint 0: the lower one is named
  Problem halves{{450, 600}, 0, {}};
  for (int i = 0; i < 300; ++i) {
    halves.activities.push_back(flow(3, {{0, 1}, {1, 1}}));
    halves.activities.push_back(flow(1.5, {{1, 1}}));
  }
  const Solution of_halves = ManyFlows().run(halves);
  CHECK_THAT(of_halves.finish_s[0], WithinRel(2.5, kExact));  // 1.5 s at 1 B/s, 1 s at 1.5 B/s
  CHECK(of_halves.limited_by[0] == 0);
  CHECK(of_halves.limited_by[1] == 1);
}

TEST_CASE("many flows: one whose weight was nearly all of a link leaves the others their shares", "[physics]") {
  Problem problem{{60}, 0, {}};
  for (int i = 0; i < 599; ++i) problem.activities.push_back(flow(100, {{0, 0.1}}));
  problem.activities.push_back(flow(1e-16, {{0, 1e17}}, 1e-18));  // 0.1 B/s of the link for 100 s
  const Solution found = ManyFlows().run(problem);
  CHECK_THAT(found.finish_s[0], WithinRel(100.0, kExact));
  CHECK_THAT(found.finish_s[599], WithinRel(100.0, kExact));
}

TEST_CASE("many flows: what limited a flow at several times counts together", "[physics]") {
  // 300 flows over links 0, 1 and 2: 2 B limited by link 0, 3 B by link 1 while others use it, 2 B by link 0, 1 B by
  // link 2 while others use that: link 0 has 4 of 8
  Problem problem{{300, 600, 300}, 0, {}};
  for (int i = 0; i < 300; ++i) problem.activities.push_back(flow(8, {{0, 1}, {1, 1}, {2, 1}}));
  for (int i = 0; i < 900; ++i) {
    problem.activities.push_back(flow(3, {{1, 1}}));
    problem.activities.back().delay_s = 2;
    problem.activities.push_back(flow(100, {{2, 1}}));
    problem.activities.back().delay_s = 10;
  }
  const Solution found = ManyFlows().run(problem);
  CHECK(found.late_shares == 0);
  CHECK_THAT(found.finish_s[300], WithinRel(8.0, kExact));
  CHECK_THAT(found.finish_s[0], WithinRel(14.0, kExact));
  CHECK(found.limited_by[0] == 0);
  CHECK(found.limited_by[300] == 1);
}

TEST_CASE("many flows: starts that rounding alone parts are one", "[physics]") {
  // 25 starts, each in two roundings: rates are shared out 25 times for them and 25 times for the ends, below 64
  Problem problem{{1200}, 0, {}};
  for (int i = 0; i < 1200; ++i) {
    problem.activities.push_back(flow(1000, {{0, 1}}));
    const double start_s = 1 + 0.1 * (i % 25);
    problem.activities.back().delay_s = i % 2 == 0 ? start_s : std::nextafter(start_s, 10);
  }
  REQUIRE(ManyFlows::takes(problem));
  CHECK(ManyFlows().run(problem).late_shares == 0);
}

TEST_CASE("many flows: which problems are taken, at the limits", "[physics]") {
  const auto star = [](std::size_t flows, std::size_t starts) {
    Problem problem{{1}, 0, {}};
    for (std::size_t f = 0; f < flows; ++f) {
      problem.activities.push_back(flow(1, {{0, 1}}));
      problem.activities.back().delay_s = static_cast<double>(f % starts);
    }
    return problem;
  };
  CHECK_FALSE(ManyFlows::takes(star(ManyFlows::kFew, 1)));
  CHECK(ManyFlows::takes(star(ManyFlows::kFew + 1, 1)));
  CHECK(ManyFlows::takes(star(600, ManyFlows::kExactShares)));
  CHECK_FALSE(ManyFlows::takes(star(600, ManyFlows::kExactShares + 1)));
  CHECK_FALSE(ManyFlows::takes(star(ManyFlows::kMany, ManyFlows::kExactShares + 1)));
  const std::size_t more = ManyFlows::kMany + 4;
  CHECK(ManyFlows::takes(star(more, more / ManyFlows::kFlowsAStart)));
  CHECK_FALSE(ManyFlows::takes(star(more, more / ManyFlows::kFlowsAStart + 1)));
  // flows that meet in a chain of pairs are connected; those over no link count for no component
  Problem chain = star(1, 1);
  for (int f = 1; f <= 512; ++f) {
    chain.capacity_Bps.push_back(1);
    chain.activities.push_back(flow(1, {{f, 1}, {f - 1, 1}}));
  }
  CHECK(ManyFlows::takes(chain));
  chain.activities.pop_back();
  CHECK_FALSE(ManyFlows::takes(chain));
  chain.activities.push_back(flow(1, {}, 1));
  CHECK_FALSE(ManyFlows::takes(chain));
}

TEST_CASE("where flows meet: bounds, links that count for nothing, members", "[physics]") {
  // links 0 to 5: 0 and 1 in a row with the same flows, 2 tighter for its weights, 3 with other proportions,
  // 4 and 5 each of one flow
  Problem problem{{100, 90, 150, 50, 30, 10}, 0, {}};
  problem.activities.push_back(flow(1, {{0, 1}, {1, 1}, {2, 2}, {3, 1}, {5, 0.5}, {4, 1.5}}, 25));
  problem.activities.push_back(flow(1, {{0, 2}, {1, 2}, {2, 4}, {3, 1}}, 7));
  problem.activities.push_back(flow(1, {}, 9));
  FlowLinks links;
  links.load(problem);
  CHECK(links.shared() == std::vector<int>{2, 3});  // 150 / 2 is less than 90
  for (const int c : {0, 1, 4, 5}) CHECK_FALSE(links.is_shared(c));
  CHECK(links.bound(0).rate_Bps == 20);  // 30 / 1.5 and 10 / 0.5: the lower constraint
  CHECK(links.bound(0).limiter == 4);
  CHECK(links.bound(1).rate_Bps == 7);
  CHECK(links.bound(1).limiter == kOwnCap);
  CHECK(links.bound(2).rate_Bps == 9);
  CHECK(links.meets_others(0));
  CHECK_FALSE(links.meets_others(2));
  CHECK(links.tightest() == std::vector<int>{2});  // 150 / 6 for both flows, 50 / 2 is no less
  links.choose({2, 3}, {0, 1});
  REQUIRE(links.passes(0).size() == 2);
  CHECK(links.pass(links.passes(0)[0]).weight == 2);
  CHECK(links.pass(links.passes(0)[1]).link == 3);
  REQUIRE(links.members(2).size() == 2);
  CHECK(links.member_weights(2)[1] == 4);
  CHECK(links.members(2)[1] == 1);
  links.forget_members(2, [](int flow) { return flow == 0; });
  REQUIRE(links.members(2).size() == 1);
  CHECK(links.members(2)[0] == 1);
  links.choose({3}, {1});
  CHECK(links.is_chosen(3));
  CHECK_FALSE(links.is_chosen(2));
  CHECK(links.passes(0).empty());
  CHECK(links.members(3).size() == 1);

  problem.capacity_Bps[2] = 180;  // as tight as link 1: the lower one counts
  links.load(problem);
  CHECK(links.shared() == std::vector<int>{1, 3});
}

}  // namespace linkcast::test::many_flows_exact_test
