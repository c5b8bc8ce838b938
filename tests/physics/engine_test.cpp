// Closed-form cases for both solvers, with the arithmetic in sight, and the two against each other.
#include <cmath>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/input_error.hpp"
#include "sim/engine/check.hpp"
#include "sim/engine/flow_record.hpp"
#include "sim/engine/fluid_engine.hpp"
#include "sim/engine/problem.hpp"
#include "sim/engine/solvers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/solve.hpp"

namespace linkcast::test::engine_test {

namespace {

// source: our choice for the physics suite, far below any measured effect

Activity flow(double work_B, std::vector<Use> uses, double delay_s = 0) {
  Activity activity;
  activity.work_B = work_B;
  activity.uses = std::move(uses);
  activity.delay_s = delay_s;
  return activity;
}

Activity after(std::vector<int> before, Activity activity) {
  activity.after = std::move(before);
  return activity;
}

Activity queued(std::vector<int> queues, Activity activity) {
  activity.queues = std::move(queues);
  return activity;
}

Activity capped(double cap_Bps, Activity activity) {
  activity.rate_cap_Bps = cap_Bps;
  return activity;
}

/// Expects the finish times, in order.
void require_finish(const Solution& solution, const std::vector<double>& expected_s) {
  REQUIRE(solution.finish_s.size() == expected_s.size());
  for (std::size_t a = 0; a < expected_s.size(); ++a) {
    INFO("activity " << a);
    CHECK_THAT(solution.finish_s[a], WithinRel(expected_s[a], kExact));
  }
}

}  // namespace

TEST_CASE("one flow takes its delay and bytes / capacity", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  // 10 us + 1 GB / 450 GB/s; SimGrid's defaults make it 5.0 ms
  const Solution solution = solve(solver, {{450e9}, 0, {flow(1e9, {{0, 1}}, 10e-6)}});
  require_finish(solution, {10e-6 + 1e9 / 450e9});
  CHECK_THAT(solution.carried_B[0], WithinRel(1e9, kExact));
  CHECK(solution.start_s[0] == 0);
  CHECK(solution.makespan_s == solution.finish_s[0]);
}

TEST_CASE("flows share a constraint equally, and the rest speeds up", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  // 100 B/s: both at 50 B/s until 100 B at 2 s; then 200 B more alone at 100 B/s
  require_finish(solve(solver, {{100}, 0, {flow(100, {{0, 1}}), flow(300, {{0, 1}})}}), {2, 4});
}

TEST_CASE("opposite directions meet only in a duplex group", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  require_finish(solve(solver, {{100, 100}, 0, {flow(100, {{0, 1}}), flow(100, {{1, 1}})}}), {1, 1});
  // constraint 2 holds both directions together to 150 B/s: 75 B/s each
  const Solution duplex =
      solve(solver, {{100, 100, 150}, 0, {flow(150, {{0, 1}, {2, 1}}), flow(150, {{1, 1}, {2, 1}})}});
  require_finish(duplex, {2, 2});
  CHECK(duplex.limited_by == std::vector<int>{2, 2});
}

TEST_CASE("a weight is paid in capacity, and shares stay equal in rate", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  require_finish(solve(solver, {{100}, 0, {flow(100, {{0, 2}})}}), {2});
  // x + 2x = 90 gives 30 B/s each; 60 B end at 2 s; then 60 B more alone at 90 B/s
  const Solution solution = solve(solver, {{90}, 0, {flow(120, {{0, 1}}), flow(60, {{0, 2}})}});
  require_finish(solution, {2 + 60.0 / 90, 2});
  CHECK_THAT(solution.carried_B[0], WithinRel(120 + 2 * 60.0, kExact));
}

TEST_CASE("a fractional weight is exact", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  require_finish(solve(solver, {{100}, 0, {flow(100, {{0, 1.5}})}}), {1.5});
  // x + 18/17 x = 70 gives 34 B/s each; 34 B end at 1 s; then 36 B more alone at 70 B/s
  require_finish(solve(solver, {{70}, 0, {flow(70, {{0, 1}}), flow(34, {{0, 18.0 / 17}})}}), {1 + 36.0 / 70, 1});
}

TEST_CASE("weights that are no short fractions are exact", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  const double pi = 3.14159265358979, root = 1.41421356237310, small = 1e-3 * pi;
  // x (1 + pi + root) = 100 on link 0; each flow of 50 B, or 50 B and what then is left of 1000 B alone
  const double together_s = 50 * (1 + pi + root) / 100;
  require_finish(
      solve(solver, {{100, 1000}, 0, {flow(50, {{0, 1}}), flow(1050, {{0, pi}}), flow(50, {{0, root}, {1, pi}})}}),
      {together_s, together_s + 1000 * pi / 100, together_s});
  // A cap of 20 B/s; the other one has 100 - 20 pi of 100 B/s, and link 1 is taken by one flow alone
  require_finish(
      solve(solver, {{100, 10}, 0, {capped(20, flow(40, {{0, pi}, {1, small}})), flow((100 - 20 * pi) * 2, {{0, 1}})}}),
      {2, 2});
  // As few as 1 of 1000: x (pi + 3.14e-3) = 100
  require_finish(solve(solver, {{100}, 0, {flow(100, {{0, pi}}), flow(100, {{0, small}})}}), {pi + small, pi + small});
}

TEST_CASE("a rate cap binds and leaves the rest to others", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  // 20 B/s capped, 80 B/s left
  const Solution solution = solve(solver, {{100}, 0, {capped(20, flow(40, {{0, 1}})), flow(160, {{0, 1}})}});
  require_finish(solution, {2, 2});
  CHECK(solution.limited_by == std::vector<int>{kOwnCap, 0});
  require_finish(solve(solver, {{}, 0, {capped(20, flow(40, {}))}}), {2});
}

TEST_CASE("max-min: who is stopped elsewhere leaves room", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  // constraint 0, 30 B/s: flows 0 and 1 at 15; constraint 1, 100 B/s: flow 2 has 100 - 15 = 85
  const Solution solution =
      solve(solver, {{30, 100}, 0, {flow(15, {{0, 1}}), flow(15, {{0, 1}, {1, 1}}), flow(85, {{1, 1}})}});
  require_finish(solution, {1, 1, 1});
  CHECK(solution.limited_by == std::vector<int>{0, 0, 1});
}

TEST_CASE("limited_by is what limited most bytes", "[physics]") {
  // shared constraint 0 gives flow 0 50 B/s for 1 s, then constraint 1 gives it 80 B/s for 150 B
  const Solution solution = solve("fluid", {{100, 80}, 0, {flow(200, {{0, 1}, {1, 1}}), flow(50, {{0, 1}})}});
  require_finish(solution, {1 + 150.0 / 80, 1});
  CHECK(solution.limited_by == std::vector<int>{1, 0});
}

TEST_CASE("what limits a flow may change while its rate stays", "[physics]") {
  Activity narrow = flow(15, {{0, 1}, {1, 1}});
  // For 1 s the second constraint allows 5 of 10 B/s; then the other flow leaves it 5 B/s of the first for its last 10
  // B.
  const Solution solution = solve("fluid", {{10, 5}, 0, {narrow, flow(100, {{0, 1}}, 1)}});
  CHECK_THAT(solution.finish_s[0], WithinRel(3.0, kExact));
  CHECK(solution.limited_by[0] == 0);
}

TEST_CASE("flows of different delays share equally", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  // SimGrid by itself weights shares by latency. 1 kB/us: flow 0 alone for 3 us, then 500 B/us each:
  // flow 1 has moved 10 kB at 4 + 20 us; flow 0 has moved 3 + 10 kB then, and 17 kB more take 17 us.
  require_finish(solve(solver, {{1e9}, 0, {flow(30e3, {{0, 1}}, 1e-6), flow(10e3, {{0, 1}}, 4e-6)}}), {41e-6, 24e-6});
}

TEST_CASE("events less than a nanosecond apart stay apart", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  // SimGrid by itself merges them. 450 GB/s shared: 100 B each after 200/450 ns, then 100 B more in 100/450 ns, after 1
  // us
  const Solution solution = solve(solver, {{450e9}, 0, {flow(100, {{0, 1}}, 1e-6), flow(200, {{0, 1}}, 1e-6)}});
  CHECK_THAT(solution.finish_s[0], WithinAbs(1e-6 + 200 / 450e9, 1e-15));
  CHECK_THAT(solution.finish_s[1], WithinAbs(1e-6 + 300 / 450e9, 1e-15));
}

TEST_CASE("a chain of 20000 hops does not drift", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  constexpr int kHops = 20000;  // source: with its defaults SimGrid is off by 1.9e-4 here
  Problem problem{{1e11, 1e9}, 0, {flow(1e3, {{0, 1}}, 2.5e-6)}};
  for (int hop = 1; hop < kHops; ++hop) {
    problem.activities.push_back(after({hop - 1}, flow(1e3, {{0, 1}}, 2.5e-6)));
  }
  // 0.04 s at 1 GB/s beside the chain of 20000 (2.5 us + 10 ns)
  problem.activities.push_back(flow(4e7, {{1, 1}}));
  const Solution solution = solve(solver, problem);
  CHECK_THAT(solution.finish_s[kHops - 1], WithinRel(kHops * (2.5e-6 + 1e-8), kExact));
  CHECK_THAT(solution.finish_s[kHops], WithinRel(0.04, kExact));
}

TEST_CASE("queues serve one at a time, first come first served", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  SECTION("ties go to the lower index, and the delay is inside") {
    const Activity one = queued({0}, flow(100, {{0, 1}}, 1));  // 1 s + 100 B / 100 B/s
    const Solution solution = solve(solver, {{100}, 1, {one, one, one}});
    require_finish(solution, {2, 4, 6});
    CHECK_THAT(solution.start_s[2], WithinRel(4.0, kExact));
  }
  SECTION("who needs two queues holds its place in both") {
    // 1 waits for queue 0 until 1 s and meanwhile keeps 2 out of queue 1
    const Problem problem{
        {100, 100, 100},
        2,
        {queued({0}, flow(100, {{0, 1}})), queued({0, 1}, flow(100, {{1, 1}})), queued({1}, flow(100, {{2, 1}}))}};
    require_finish(solve(solver, problem), {1, 2, 3});
  }
  SECTION("one joins when it becomes ready, not before") {
    // 1 is ready at 1 s; 2, ready at 0.5 s, came first
    const Problem problem{{100},
                          1,
                          {flow(0, {}, 1), after({0}, queued({0}, flow(0, {}, 1))),
                           after({3}, queued({0}, flow(0, {}, 2))), flow(0, {}, 0.5)}};
    require_finish(solve(solver, problem), {1, 3.5, 2.5, 0.5});
  }
  SECTION("together at 1 s: one ended a flow, the other a delay") {
    const Problem problem{{100},
                          1,
                          {flow(100, {{0, 1}}), flow(0, {}, 1), after({1}, queued({0}, flow(0, {}, 2))),
                           after({0}, queued({0}, flow(0, {}, 3)))}};
    require_finish(solve(solver, problem), {1, 1, 3, 6});
  }
}

TEST_CASE("dependencies: all predecessors first", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  // 0: 1 s; 1: 2 s; 2 after both: 2 s + 1 s; 3 after 2 and 0
  const Problem problem{{100, 100, 100, 100},
                        0,
                        {flow(100, {{0, 1}}), flow(200, {{1, 1}}), after({0, 1}, flow(100, {{2, 1}})),
                         after({2, 0}, flow(100, {{3, 1}}, 0.5))}};
  require_finish(solve(solver, problem), {1, 2, 3, 4.5});
}

TEST_CASE("a flow over all hops of a ring equals the ring step by step", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  const int ranks = GENERATE(2, 3, 8, 16);
  const int steps = 2 * (ranks - 1);
  const double chunk_B = 1e6;
  const double delay_s = 2e-6;
  Problem stepwise{std::vector<double>(static_cast<std::size_t>(ranks), 25e9), 0, {}};
  for (int step = 0; step < steps; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      Activity send = flow(chunk_B, {{rank, 1}}, delay_s);
      const int received = (step - 1) * ranks + (rank + ranks - 1) % ranks;
      const int sent = (step - 1) * ranks + rank;
      if (step > 0) send.after = {received, sent};
      stepwise.activities.push_back(send);
    }
  }
  Problem coupled{stepwise.capacity_Bps, 0, {flow(steps * chunk_B, {}, steps * delay_s)}};
  for (int rank = 0; rank < ranks; ++rank) coupled.activities[0].uses.push_back({rank, 1});
  const double expected_s = steps * (delay_s + chunk_B / 25e9);
  CHECK_THAT(solve(solver, stepwise).makespan_s, WithinRel(expected_s, kExact));
  CHECK_THAT(solve(solver, coupled).makespan_s, WithinRel(expected_s, kExact));
}

TEST_CASE("zero bytes take the delay only, and nothing takes nothing", "[physics]") {
  const auto solver = GENERATE(std::string("fluid"), std::string("native"));
  const Problem problem{
      {100}, 0, {flow(0, {{0, 1}}, 1e-6), flow(0, {{0, 1}}), after({1}, flow(0, {})), after({2}, flow(100, {{0, 1}}))}};
  const Solution solution = solve(solver, problem);
  require_finish(solution, {1e-6, 0, 0, 1});
  CHECK(solution.limited_by == std::vector<int>{kOwnCap, kOwnCap, kOwnCap, 0});
  CHECK(solve(solver, {}).makespan_s == 0);
}

TEST_CASE("what never finishes is an error, and the next run works", "[physics]") {
  const auto name = GENERATE(std::string("fluid"), std::string("native"));
  const auto solver = make_solver(name);
  const Problem cycle{{100}, 0, {after({1}, flow(1, {{0, 1}})), after({0}, flow(1, {{0, 1}})), flow(1, {{0, 1}})}};
  CHECK_THROWS_AS(solver->run(cycle), InvariantError);
  CHECK_THROWS_AS(solver->run({{100}, 0, {after({0}, flow(1, {{0, 1}}))}}), InvariantError);
  require_finish(solver->run({{100}, 0, {flow(100, {{0, 1}})}}), {1});
}

TEST_CASE("what no solver can run is refused", "[physics]") {
  const auto name = GENERATE(std::string("fluid"), std::string("native"));
  const auto solver = make_solver(name);
  const auto refused = [&](const Problem& problem) { CHECK_THROWS_AS(solver->run(problem), InvariantError); };
  refused({{100}, 0, {flow(1, {{1, 1}})}});
  refused({{100}, 0, {flow(1, {{-1, 1}})}});
  refused({{100}, 0, {flow(1, {{0, 1}, {0, 1}})}});
  refused({{100}, 0, {flow(1, {{0, 0}})}});
  refused({{0}, 0, {flow(1, {{0, 1}})}});
  refused({{100}, 0, {flow(-1, {{0, 1}})}});
  refused({{100}, 0, {flow(1, {{0, 1}}, -1)}});
  refused({{100}, 0, {flow(std::nan(""), {{0, 1}})}});
  refused({{100}, 0, {capped(0, flow(1, {{0, 1}}))}});
  refused({{100}, 0, {after({1}, flow(1, {{0, 1}}))}});
  refused({{100}, 1, {queued({1}, flow(1, {{0, 1}}))}});
  refused({{100}, 1, {queued({0, 0}, flow(1, {{0, 1}}))}});
}

TEST_CASE("an unknown solver is refused by name", "[physics]") {
  CHECK_THROWS_AS(make_solver("exact"), InputError);
  for (const std::string& name : solver_names()) CHECK(make_solver(name) != nullptr);
}

TEST_CASE("a wrong solution is caught", "[physics]") {
  const Problem problem{{100, 100}, 0, {flow(100, {{0, 1}}), after({0}, flow(100, {{1, 1}}, 1))}};
  Solution solution = solve("fluid", problem);
  CHECK_NOTHROW(check_solution(problem, solution));
  SECTION("faster than the wire") { solution.finish_s[0] = 0.999; }
  SECTION("without its delay") { solution.finish_s[1] = 2.5; }
  SECTION("before its predecessor") { solution.start_s[1] = 0.5; }
  SECTION("bytes lost") { solution.carried_B[0] = 99; }
  SECTION("bytes from nowhere") { solution.carried_B[1] = 101; }
  SECTION("never finished") { solution.finish_s[1] = std::nan(""); }
  SECTION("ended after the end") { solution.makespan_s = 2; }
  SECTION("an activity missing") { solution.finish_s.pop_back(); }
  CHECK_THROWS_AS(check_solution(problem, solution), InvariantError);
}

TEST_CASE("fluid_simgrid is fluid on SimGrid's main loop", "[physics]") {
  const Problem problem{
      {100, 70}, 1, {queued({0}, flow(200, {{0, 1}, {1, 0.3}}, 0.1)), queued({0}, flow(50, {{0, 1}}))}};
  const Solution fluid = solve("fluid", problem);
  const Solution moved = solve("fluid_simgrid", problem);
  CHECK(fluid.finish_s == moved.finish_s);
  CHECK(fluid.carried_B == moved.carried_B);
  std::ifstream maps("/proc/self/maps");
  const std::string libraries{std::istreambuf_iterator<char>(maps), {}};
  CHECK(libraries.find("libsimgrid") != std::string::npos);  // nothing else loads it
}

TEST_CASE("activities that came one by one are run again by native", "[physics]") {
  FluidEngine engine;
  FlowRecord record;
  const auto add = [&](double capacity_Bps) {
    record.add_constraint(engine.add_constraint(capacity_Bps), capacity_Bps);
  };
  const auto start = [&](const Activity& activity) {
    const int handle = engine.start(activity);
    record.start(handle, activity, engine.now_s());
    return handle;
  };
  const auto end_next = [&] {
    for (bool ended = false; !ended;) {
      engine.advance(engine.next_event_s());
      for (const int handle : engine.ended()) record.end(handle, engine.now_s()), ended = true;
    }
  };
  add(100);
  engine.add_queue();
  record.add_queue();
  const int first = start(queued({0}, flow(100, {{0, 1}}, 0.25)));
  start(after({first}, flow(30, {{0, 0.3}})));
  engine.advance(0.125);
  start(queued({0}, flow(50, {{0, 1.5}})));
  end_next();
  add(40);
  start(flow(1e18, {{1, 1}}));  // of those that others move: it does not end here
  end_next();
  end_next();
  record.check(*make_solver("native"), engine.now_s());
  const int last = start(flow(10, {{0, 1}}));
  record.end(last, engine.now_s() + 0.05);  // too early: alone it takes 0.1 s
  CHECK_THROWS_AS(record.check(*make_solver("native"), engine.now_s() + 0.05), InvariantError);
}

}  // namespace linkcast::test::engine_test
