// Every check of a run can fail: on an engine with a fault, and on figures that are wrong.
#include "sim/base/input_error.hpp"
#include "sim/engine/check.hpp"
#include "sim/engine/fluid_engine.hpp"
#include "sim/engine/solvers.hpp"
#include "tests/support/catch.hpp"

using namespace linkcast;

namespace {

Activity flow(double work_B, std::vector<int> after = {}, std::vector<int> queues = {}) {
  Activity activity;
  activity.delay_s = 1;
  activity.work_B = work_B;
  activity.uses = {{0, 1}};
  activity.after = std::move(after);
  activity.queues = std::move(queues);
  return activity;
}

}  // namespace

TEST_CASE("engine: activities that come at any time take turns and wait", "[engine]") {
  FluidEngine engine({10});
  const int queue = engine.add_queue();
  const int first = engine.start(flow(20, {}, {queue}));
  const int next = engine.start(flow(20, {first}));
  CHECK(engine.busy(queue));
  engine.start(flow(10, {}, {queue}));
  std::vector<double> ends_s;
  while (engine.unfinished() > 0) {
    engine.advance(engine.next_event_s());
    for (std::size_t i = 0; i < engine.ended().size(); ++i) ends_s.push_back(engine.now_s());
  }
  // 1 + 20/10; then both wait 1 s and share: 10 of 5 B/s each until 6, the other 10 alone until 7.
  CHECK(ends_s == std::vector<double>{3, 6, 7});
  CHECK(engine.limited_by(next) == 0);
  CHECK(engine.carried_B() == std::vector<double>{50});
  CHECK_NOTHROW(engine.check_all_ended());
  CHECK(!engine.busy(queue));
}

TEST_CASE("engine: a run at twice the rates fails", "[engine]") {
  Problem problem{{20}, 0, {flow(20)}};  // the fault: what shares sees twice the capacity
  FluidSolver solver;
  solver.load(problem);
  solver.advance();  // the delay is over
  const double end_s = solver.next_event_s();
  CHECK(end_s == 2);
  problem.capacity_Bps[0] = 10;
  CHECK_THROWS_AS(solver.advance(), InvariantError);
}

TEST_CASE("engine: what is left over at the end of a run fails", "[engine]") {
  FluidEngine engine({10});
  engine.start(flow(20));
  CHECK_THROWS_AS(engine.check_all_ended(), InvariantError);
  while (engine.unfinished() > 0) engine.advance(engine.next_event_s());
  CHECK_NOTHROW(engine.check_all_ended());
  CHECK_THROWS_AS(engine.start(flow(20, {0})), InvariantError);  // it has ended
}

TEST_CASE("engine: each check of an end and of a constraint fails on wrong figures", "[engine]") {
  const Problem problem{{10}, 0, {flow(20)}};
  CHECK_NOTHROW(check_end(problem, 0, {0, 3, 20, 10}));
  CHECK_THROWS_AS(check_end(problem, 0, {0, 2.9, 20, 10}), InvariantError);  // before its wire bound
  CHECK_THROWS_AS(check_end(problem, 0, {0, 3, 19, 10}), InvariantError);    // without all its bytes
  CHECK_NOTHROW(check_constraint(problem, 0, {20, 20, 1, 0, 3}));
  CHECK_THROWS_AS(check_constraint(problem, 0, {20, 21, 1, 0, 3}), InvariantError);  // bytes lost
  CHECK_THROWS_AS(check_constraint(problem, 0, {20, 20, 1, 2, 3}), InvariantError);  // above capacity * time
}

TEST_CASE("engine: a constraint that was removed is taken anew", "[engine]") {
  FluidEngine engine({10});
  const int own = engine.add_constraint(4);
  Activity activity = flow(8);
  activity.uses.push_back({own, 1});
  engine.start(activity);
  while (engine.unfinished() > 0) engine.advance(engine.next_event_s());
  CHECK(engine.now_s() == 3);
  engine.remove_constraint(own);
  CHECK(engine.add_constraint(2) == own);
  engine.start(activity);
  while (engine.unfinished() > 0) engine.advance(engine.next_event_s());
  CHECK(engine.now_s() == 8);
  CHECK_NOTHROW(engine.check_all_ended());
}

TEST_CASE("engine: who came first holds a queue first, whatever slot it was given", "[engine]") {
  FluidEngine engine({10});
  const int queue = engine.add_queue();
  engine.start(flow(10));
  engine.start(flow(10));
  const int last = engine.start(flow(100));
  while (engine.ended().empty()) engine.advance(engine.next_event_s());
  REQUIRE(engine.ended() == std::vector<int>{0, 1});
  const int first = engine.start(flow(10, {last}, {queue})), second = engine.start(flow(10, {last}, {queue}));
  REQUIRE(second < first);  // slots are taken anew
  std::vector<int> ended;
  while (engine.unfinished() > 0) {
    engine.advance(engine.next_event_s());
    ended.insert(ended.end(), engine.ended().begin(), engine.ended().end());
  }
  CHECK(ended == std::vector<int>{last, first, second});
}

TEST_CASE("engine: bytes of a flow under way count up to now", "[engine]") {
  FluidEngine engine({10});
  engine.start(flow(20));
  engine.advance(engine.next_event_s());  // the delay is over, at 1 s
  REQUIRE(engine.next_event_s() == 3);
  engine.advance(2.5);
  CHECK(engine.carried_B() == std::vector<double>{15});
}
