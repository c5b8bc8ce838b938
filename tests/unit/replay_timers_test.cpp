// Timers of one time come in the order in which they were set, whatever lies between: those of a plain queue.
#include <queue>
#include <random>
#include <tuple>

#include "sim/replay/queues.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::replay_timers_test {

TEST_CASE("replay: timers come by time, then as they were set", "[replay]") {
  using Plain = std::tuple<double, int>;
  for (const int times : {1, 3, 40, 5000}) {  // few lists, more of them than are remembered, next to none shared
    std::mt19937 draw(static_cast<unsigned>(times));
    std::priority_queue<Plain, std::vector<Plain>, std::greater<>> plain;
    replay::Timers<int> timers;
    double now_s = 0;
    int set = 0;
    for (int round = 0; round < 20000; ++round) {
      if (plain.empty() || (draw() % 5 < 3 && round < 15000)) {
        const double time_s = now_s + static_cast<double>(draw() % static_cast<unsigned>(times)) / 8;
        timers.set(time_s, set);
        plain.emplace(time_s, set++);
        continue;
      }
      REQUIRE_FALSE(timers.empty());
      now_s = std::get<0>(plain.top());
      REQUIRE(timers.top_s() == now_s);
      REQUIRE(timers.pop() == std::get<1>(plain.top()));
      plain.pop();
    }
    for (; !plain.empty(); plain.pop()) REQUIRE(timers.pop() == std::get<1>(plain.top()));
    CHECK(timers.empty());
  }
}

}  // namespace linkcast::test::replay_timers_test
