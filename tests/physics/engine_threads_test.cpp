// Runs on several threads, of which one has SimGrid's engine, and runs that are ended from outside.
#include <exception>
#include <limits>
#include <thread>
#include <vector>

#include "sim/base/input_error.hpp"
#include "sim/engine/run_events.hpp"
#include "sim/engine/solvers.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::engine_threads_test {

namespace {

constexpr int kTransfers = 600;

/// Transfers of different lengths that share a link, some after others.
Problem shared_link() {
  Problem problem;
  problem.capacity_Bps = {1e9, 2e9};
  for (int a = 0; a < kTransfers; ++a) {
    Activity activity;
    activity.delay_s = 1e-6 * a;
    activity.work_B = 1e5 + 7919.0 * a;
    activity.uses = {{a % 2, 1}};
    if (a >= 10) activity.after = {a - 10};
    problem.activities.push_back(activity);
  }
  return problem;
}

std::vector<double> solved() { return make_solver("fluid")->run(shared_link()).finish_s; }

/// Its only event lies before its clock.
class Backwards final : public EventSource {
 public:
  [[nodiscard]] double now_s() const override { return 1; }
  double next_event_s() override { return ended_ ? std::numeric_limits<double>::infinity() : 0.5; }
  void advance() override { ended_ = true; }

 private:
  bool ended_ = false;
};

/// An event every second.
class Clock final : public EventSource {
 public:
  explicit Clock(long events) : left_(events) {}
  [[nodiscard]] double now_s() const override { return now_s_; }
  double next_event_s() override { return left_ > 0 ? now_s_ + 1 : std::numeric_limits<double>::infinity(); }
  void advance() override {
    now_s_ += 1;
    --left_;
  }

 private:
  long left_;
  double now_s_ = 0;
};

}  // namespace

TEST_CASE("engine: SimGrid moves the time of what is left of a long run", "[engine]") {
  constexpr long kEvents = (1L << 22) + 10;
  for (int run = 0; run < 2; ++run) {
    Clock clock(kEvents);
    run_events(clock);
    CHECK(clock.now_s() == kEvents);
  }
}

TEST_CASE("engine: a run has the same bits on every thread, alone and beside others", "[engine]") {
  const std::vector<double> here = solved();
  std::vector<std::vector<double>> there(4);
  std::vector<std::thread> threads;
  for (std::vector<double>& finish_s : there) threads.emplace_back([&finish_s] { finish_s = solved(); });
  const std::vector<double> beside = solved();
  for (std::thread& thread : threads) thread.join();
  CHECK(here == beside);
  for (const std::vector<double>& finish_s : there) CHECK(here == finish_s);
}

TEST_CASE("engine: an event before its clock is an error on any thread", "[engine]") {
  bool thrown = false;
  std::thread([&thrown] {
    Backwards source;
    try {
      run_events(source);
    } catch (const InvariantError&) {
      thrown = true;
    }
  }).join();
  CHECK(thrown);
}

TEST_CASE("engine: what a check throws ends a run, and the next one is whole", "[engine]") {
  struct Stop {};
  const std::vector<double> whole = solved();
  int calls = 0;
  {
    const EventCheck counts([&calls] { ++calls; });
    CHECK(solved() == whole);
    CHECK(calls > 0);
    {
      const EventCheck stops([] { throw Stop(); });
      CHECK_THROWS_AS(solved(), Stop);
    }
    const int before = calls;
    CHECK(solved() == whole);
    CHECK(calls > before);
  }
  const int before = calls;
  CHECK(solved() == whole);
  CHECK(calls == before);
}

}  // namespace linkcast::test::engine_threads_test
