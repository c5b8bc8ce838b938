// Pieces of work on several threads: their results come in order, what they throw comes in its place.
#include "sim/base/in_order.hpp"

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.hpp"

namespace linkcast::test::in_order_test {

using work::InOrder;

TEST_CASE("pieces run at the same time, each on a thread whose number it knows", "[unit][work]") {
  std::latch both(2);
  std::vector<std::size_t> threads;
  InOrder pieces(2);
  for (int i = 0; i < 2; ++i)
    pieces.add([&](std::size_t thread) -> InOrder::Rest {
      both.arrive_and_wait();  // for ever if one came after the other
      return [&threads, thread] { threads.push_back(thread); };
    });
  pieces.finish();
  REQUIRE(threads.size() == 2);
  CHECK(threads[0] + threads[1] == 1);
}

TEST_CASE("what pieces leave is handed out in their order, by one thread at a time", "[unit][work]") {
  constexpr int kPieces = 1000;
  std::vector<int> came;
  std::atomic<int> inside = 0, most = 0;
  InOrder pieces(4);
  for (int i = 0; i < kPieces; ++i)
    pieces.add([&, i](std::size_t) -> InOrder::Rest {
      if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));  // others overtake it
      return [&, i] {
        most = std::max(most.load(), ++inside);
        came.push_back(i);
        --inside;
      };
    });
  pieces.finish();
  REQUIRE(came.size() == kPieces);
  for (int i = 0; i < kPieces; ++i) CHECK(came[static_cast<std::size_t>(i)] == i);
  CHECK(most == 1);
}

TEST_CASE("what a piece throws comes when all before it are handed out, and ends the rest", "[unit][work]") {
  std::vector<int> came;
  std::string said;
  try {
    InOrder pieces(3);
    for (int i = 0; i < 200; ++i)
      pieces.add([&, i](std::size_t) -> InOrder::Rest {
        if (i == 20) throw std::runtime_error("piece 20");
        if (i < 20) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // 20 has thrown before they are done
        return [&, i] { came.push_back(i); };
      });
    pieces.finish();
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  CHECK(said == "piece 20");
  REQUIRE(came.size() == 20);
  CHECK(came.back() == 19);
}

TEST_CASE("what handing out throws is thrown too", "[unit][work]") {
  InOrder pieces(2);
  pieces.add([](std::size_t) -> InOrder::Rest { return [] { throw std::runtime_error("full disk"); }; });
  CHECK_THROWS_WITH(pieces.finish(), "full disk");
}

TEST_CASE("whoever waits for pieces is ended by its own flag, and ends them", "[unit][work]") {
  work::StopFlag flag;
  const work::Scope scope(flag);
  std::atomic<bool> stopped = false;
  {
    InOrder pieces(1);
    pieces.add([&](std::size_t) -> InOrder::Rest {
      try {
        for (;;) {
          work::look();
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      } catch (const work::Stopped&) {
        stopped = true;
        throw;
      }
    });
    flag.raise(work::Why::kInterrupted);
    CHECK_THROWS_AS(pieces.finish(), work::Stopped);
  }
  CHECK(stopped);
}

}  // namespace linkcast::test::in_order_test
