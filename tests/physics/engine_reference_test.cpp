// The engine against the same rules worked out in the plainest way: times, bytes and what limited each activity, where
// weights are fractions, caps bind, queues form, and activities come while others run.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "sim/base/input_error.hpp"
#include "sim/engine/check.hpp"
#include "sim/engine/fluid_engine.hpp"
#include "sim/engine/solvers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/plain_sharing.hpp"

namespace linkcast::test::engine_reference_test {

namespace {

constexpr double kWeights[] = {0.25, 0.5, 0.7, 1, 1.5, 2, 3.3};

/// Constraints in any order, so that the first that an activity lists need not be the lowest.
void add_uses(Dice& dice, int constraints, Activity& activity) {
  std::vector<int> left;
  for (int c = 0; c < constraints; ++c) left.push_back(c);
  for (int hops = dice.below(std::min(constraints, 5) + 1); hops > 0; --hops) {
    const int taken = dice.below(static_cast<int>(left.size()));
    activity.uses.push_back({left[static_cast<std::size_t>(taken)], kWeights[dice.below(7)]});
    left.erase(left.begin() + taken);
  }
}

Activity random_activity(Dice& dice, int number, int constraints, int queues) {
  Activity activity;
  if (!dice.one_in(3)) activity.delay_s = dice.between(0.1, 3);
  if (!dice.one_in(8)) activity.work_B = dice.between(1, 200);
  if (dice.one_in(3)) activity.rate_cap_Bps = dice.between(1, 60);
  add_uses(dice, constraints, activity);
  for (int n = dice.below(3); number > 0 && n > 0; --n) activity.after.push_back(dice.below(number));
  for (int q = 0; q < queues; ++q)
    if (dice.one_in(4)) activity.queues.push_back(q);
  return activity;
}

Problem random_problem(unsigned seed, int most) {
  Dice dice(seed);
  Problem problem;
  const int constraints = 1 + dice.below(8);
  for (int c = 0; c < constraints; ++c) problem.capacity_Bps.push_back(dice.between(10, 100));
  problem.queue_count = dice.below(4);
  const int activities = 1 + dice.below(most);
  for (int a = 0; a < activities; ++a)
    problem.activities.push_back(random_activity(dice, a, constraints, problem.queue_count));
  return problem;
}

/// The engine's limit has as many of the bytes as any.
void check_limit(const PlainSharing& plain, const Problem& problem, std::size_t a, int limited_by) {
  const Activity& activity = problem.activities[a];
  if (activity.work_B == 0 || (activity.uses.empty() && std::isinf(activity.rate_cap_Bps))) {
    CHECK(limited_by == kOwnCap);
    return;
  }
  PlainSharing::Real most = 0;
  for (const auto& [limit, bytes] : plain.limited_B[a]) most = std::max(most, bytes);
  REQUIRE(plain.limited_B[a].count(limited_by) == 1);
  CHECK(plain.limited_B[a].at(limited_by) >= most * (1 - 1e-6L));
}

bool same(double found, PlainSharing::Real plain) {
  return std::abs(found - plain) <= kExact * std::max<PlainSharing::Real>(1, std::abs(plain));
}

void check_same(const std::vector<double>& found, const std::vector<PlainSharing::Real>& plain, const char* what) {
  REQUIRE(found.size() == plain.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO(what << " " << i << ": " << found[i] << ", plainly " << static_cast<double>(plain[i]));
    CHECK(same(found[i], plain[i]));
  }
}

Activity flow(double work_B, std::vector<Use> uses, double delay_s = 0) {
  Activity activity;
  activity.work_B = work_B;
  activity.uses = std::move(uses);
  activity.delay_s = delay_s;
  return activity;
}

}  // namespace

TEST_CASE("engine: random problems are those of plain sharing", "[physics][engine]") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    const Problem problem = random_problem(seed, seed % 10 == 0 ? 60 : 16);
    PlainSharing plain(problem);
    plain.run();
    const Solution found = make_solver("fluid")->run(problem);
    check_same(found.start_s, plain.start_s, "start of");
    check_same(found.finish_s, plain.finish_s, "end of");
    check_same(found.carried_B, plain.carried_B, "bytes on");
    for (std::size_t a = 0; a < problem.activities.size(); ++a) check_limit(plain, problem, a, found.limited_by[a]);
  }
}

TEST_CASE("engine: random activities that come while others run are those of plain sharing", "[physics][engine]") {
  for (unsigned seed = 1; seed <= 120; ++seed) {
    INFO("seed " << seed);
    Dice dice(seed);
    Problem problem = random_problem(seed + 1000, 24);
    std::vector<double> comes_s{0};
    for (std::size_t a = 1; a < problem.activities.size(); ++a)
      comes_s.push_back(comes_s.back() + (dice.one_in(3) ? 0 : dice.between(0, 2)));
    FluidEngine engine(problem.capacity_Bps);
    for (int q = 0; q < problem.queue_count; ++q) engine.add_queue();
    PlainSharing plain(problem, comes_s);
    std::vector<int> handle(problem.activities.size(), -1);  // of those that run
    std::vector<double> start_s(handle.size(), 0), finish_s(handle.size(), 0);
    std::vector<char> over(handle.size(), 0);
    const auto advance = [&](double to_s) {
      engine.advance(to_s);
      for (const int ended : engine.ended())
        for (std::size_t a = 0; a < handle.size(); ++a)
          if (handle[a] == ended && over[a] == 0) {
            over[a] = 1;
            start_s[a] = engine.start_s(ended);
            finish_s[a] = engine.now_s();
            check_limit(plain, problem, a, engine.limited_by(ended));
          }
    };
    PlainSharing ahead(problem, comes_s);
    ahead.run();
    plain = ahead;  // what limits is known from the end on
    PlainSharing until(problem, comes_s);
    for (std::size_t a = 0; a < handle.size(); ++a) {
      while (engine.next_event_s() < comes_s[a]) advance(engine.next_event_s());
      if (engine.now_s() < comes_s[a]) advance(comes_s[a]);
      until.run_until(comes_s[a]);
      check_same(engine.carried_B(), until.carried_B, "bytes until now on");
      CHECK_NOTHROW(engine.check_carried());
      Activity what = problem.activities[a];
      what.after.clear();
      for (const int before : problem.activities[a].after)
        if (over[static_cast<std::size_t>(before)] == 0) what.after.push_back(handle[static_cast<std::size_t>(before)]);
      handle[a] = engine.start(what);
    }
    while (engine.next_event_s() < std::numeric_limits<double>::infinity()) advance(engine.next_event_s());
    CHECK_NOTHROW(engine.check_all_ended());
    check_same(start_s, ahead.start_s, "start of");
    check_same(finish_s, ahead.finish_s, "end of");
    check_same(engine.carried_B(), ahead.carried_B, "bytes on");
  }
}

TEST_CASE("engine: of limits that are equally tight a flow's own cap is named, else the lower constraint",
          "[physics][engine]") {
  const auto limits = [](const Problem& problem) { return make_solver("fluid")->run(problem).limited_by; };
  CHECK(limits({{8, 8, 8}, 0, {flow(16, {{2, 1}, {1, 1}, {0, 1}})}}) == std::vector<int>{0});
  CHECK(limits({{8, 4, 16}, 0, {flow(16, {{2, 2}, {0, 1}, {1, 0.5}})}}) == std::vector<int>{0});
  const Activity two = flow(16, {{1, 1}, {0, 1}});
  CHECK(limits({{8, 8}, 0, {two, two}}) == std::vector<int>{0, 0});
  Activity capped = flow(16, {{0, 1}});
  capped.rate_cap_Bps = 8;
  CHECK(limits({{8}, 0, {capped}}) == std::vector<int>{kOwnCap});
  capped.rate_cap_Bps = 4;
  CHECK(limits({{8}, 0, {capped, capped}}) == std::vector<int>{kOwnCap, kOwnCap});
  // 8 B limited by one constraint, then as many by the other: the lower one is named
  CHECK(limits({{4, 8}, 0, {flow(16, {{0, 1}, {1, 1}}), flow(8, {{1, 3}})}})[0] == 0);
  CHECK(limits({{8, 4}, 0, {flow(16, {{0, 1}, {1, 1}}), flow(8, {{0, 3}})}})[0] == 0);
}

TEST_CASE("engine: a sum of weights of which one was nearly all is not trusted once that one has stopped",
          "[physics][engine]") {
  Activity heavy = flow(1e3, {{0, 1e15}});
  heavy.rate_cap_Bps = 1e-15;  // 1 B/s of the constraint
  const Activity light = flow(1000, {{0, 0.1}});
  heavy.work_B = 1e-14;
  // 100 B/s are left for two flows of weight 0.1: 500 B/s each
  const Solution found = make_solver("fluid")->run({{101}, 0, {heavy, light, light}});
  CHECK_THAT(found.finish_s[1], WithinRel(2.0, 1e-9));
  CHECK_THAT(found.finish_s[2], WithinRel(2.0, 1e-9));
  CHECK_THAT(found.finish_s[0], WithinRel(10.0, 1e-9));
}

TEST_CASE("engine: what rounding alone parts ends in one moment", "[physics][engine]") {
  Activity first, second, whole;
  first.delay_s = 0.1;
  second.delay_s = 0.2;
  whole.delay_s = 0.3;
  REQUIRE(0.1 + 0.2 != 0.3);
  FluidEngine engine({1});
  second.after = {engine.start(first)};
  engine.start(second);
  engine.start(whole);
  std::vector<std::size_t> ended;
  while (engine.unfinished() > 0) {
    engine.advance(engine.next_event_s());
    ended.push_back(engine.ended().size());
  }
  CHECK(ended == std::vector<std::size_t>{1, 2});
}

TEST_CASE("engine: every limit of an activity and of a problem is checked by itself", "[physics][engine]") {
  Activity capped = flow(20, {});
  capped.rate_cap_Bps = 10;
  const Problem by_cap{{}, 0, {capped}};
  CHECK_NOTHROW(check_end(by_cap, 0, {0, 2, 20, 10}));
  CHECK_THROWS_AS(check_end(by_cap, 0, {0, 1.9, 20, 10}), InvariantError);
  CHECK_THROWS_AS(check_end(by_cap, 0, {0, 2, 21, 10}), InvariantError);  // more bytes than it has
  const Problem weighted{{10}, 0, {flow(20, {{0, 2}}, 1)}};
  CHECK_NOTHROW(check_end(weighted, 0, {0, 5, 20, 5}));
  CHECK_THROWS_AS(check_end(weighted, 0, {0, 4.9, 20, 5}), InvariantError);
  CHECK_THROWS_AS(check_end(weighted, 0, {1, 5, 20, 5}), InvariantError);
  const Problem waits{{}, 0, {flow(0, {}, 1)}};
  CHECK_NOTHROW(check_end(waits, 0, {0, 1, 0, 0}));
  CHECK_THROWS_AS(check_end(waits, 0, {0, 0.9, 0, 0}), InvariantError);
  for (const Problem& problem : {by_cap, weighted}) {
    Solution solution = make_solver("fluid")->run(problem);
    CHECK_NOTHROW(check_solution(problem, solution));
    solution.finish_s[0] *= 0.99;
    CHECK_THROWS_AS(check_solution(problem, solution), InvariantError);
  }
  Solution solution = make_solver("fluid")->run(weighted);
  for (const int entry : {0, 1, 2, 3}) {
    Solution wrong = solution;
    std::vector<double>* const lists[] = {&wrong.start_s, &wrong.finish_s, &wrong.carried_B};
    if (entry < 3)
      lists[entry]->push_back(0);
    else
      wrong.limited_by.push_back(0);
    CHECK_THROWS_AS(check_solution(weighted, wrong), InvariantError);
    CHECK_THROWS_AS(check_order(weighted, wrong), InvariantError);
  }
  solution.limited_by.clear();  // every solver tells
  CHECK_THROWS_AS(check_solution(weighted, solution), InvariantError);
  // a constraint that carried its bytes in no more than the time it had, from when it came
  CHECK_NOTHROW(check_constraint(weighted, 0, {40, 40, 1, 1, 5}));
  CHECK_THROWS_AS(check_constraint(weighted, 0, {40, 40, 1, 1.5, 5}), InvariantError);
  CHECK_THROWS_AS(check_constraint(weighted, 0, {41, 40, 1, 0, 5}), InvariantError);
}

TEST_CASE("engine: quantities that are no quantities are refused one by one", "[physics][engine]") {
  const double infinite = std::numeric_limits<double>::infinity(), none = std::nan("");
  const auto refused = [](const Problem& problem) { CHECK_THROWS_AS(check_problem(problem), InvariantError); };
  CHECK_NOTHROW(check_problem({{10}, 0, {flow(1, {{0, 1}})}}));
  refused({{infinite}, 0, {}});
  refused({{none}, 0, {}});
  refused({{-1}, 0, {}});
  refused({{10}, 0, {flow(infinite, {{0, 1}})}});
  refused({{10}, 0, {flow(1, {{0, 1}}, infinite)}});
  refused({{10}, 0, {flow(1, {{0, 1}}, none)}});
  refused({{10}, 0, {flow(1, {{0, infinite}})}});
  refused({{10}, 0, {flow(1, {{0, none}})}});
  refused({{10}, 0, {flow(1, {{0, -1}})}});
  Activity odd = flow(1, {});
  odd.rate_cap_Bps = none;
  refused({{}, 0, {odd}});
  odd.rate_cap_Bps = -1;
  refused({{}, 0, {odd}});
  odd = flow(1, {});
  odd.after = {-1};
  refused({{}, 0, {odd}});
  odd.after = {};
  odd.queues = {-1};
  refused({{}, 1, {odd}});
}

TEST_CASE("engine: a slot that is taken anew has room for more constraints than before", "[physics][engine]") {
  FluidEngine engine({10, 20, 30});
  engine.start(flow(10, {{0, 1}}));
  engine.start(flow(40, {{1, 1}}));
  while (engine.ended().empty()) engine.advance(engine.next_event_s());
  REQUIRE(engine.ended() == std::vector<int>{0});
  REQUIRE(engine.start(flow(20, {{2, 2}, {0, 1}, {1, 1}})) == 0);
  // 20 B/s shared: 10 each until the other has moved its last 20 B at 3 s, when this one has, too
  while (engine.unfinished() > 0) engine.advance(engine.next_event_s());
  CHECK_THAT(engine.now_s(), WithinRel(3.0, 1e-12));
  CHECK_NOTHROW(engine.check_all_ended());
  const std::vector<double> carried = engine.carried_B();
  CHECK_THAT(carried[0], WithinRel(30.0, 1e-12));
  CHECK_THAT(carried[1], WithinRel(60.0, 1e-12));
  CHECK_THAT(carried[2], WithinRel(40.0, 1e-12));
}

}  // namespace linkcast::test::engine_reference_test
