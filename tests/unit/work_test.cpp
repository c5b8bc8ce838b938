// Estimates before work, limits, and work that ends before its end.
#include <limits>
#include <thread>

#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/with_limits.hpp"

namespace linkcast::test::work_test {

using work::Estimate;
using work::Scope;
using work::StopFlag;
using work::Stopped;
using work::Why;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::string refusal(const Estimate& estimate) {
  try {
    work::expect(estimate);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

Why stopped(const std::function<void()>& what) {
  try {
    what();
  } catch (const Stopped& stop) {
    return stop.why;
  }
  return Why::kGoesOn;
}

}  // namespace

TEST_CASE("what takes more than the limits is refused, with the estimate and what lifts the limit", "[work]") {
  const WithLimits small({1024.0 * 1024, 60});
  CHECK(refusal({"replay", 10, "events", 1000, 59}).empty());
  const std::string slow = refusal({"replay", 1e9, "events", 1000, 7300});
  CHECK(
      slow ==
      "replay: about 1e+09 events, 1e+03 B of memory and 2 h, more than the limit of 1 MiB and 60 s: ask for less, or "
      "raise it by max_memory and max_time (LINKCAST_MAX_MEMORY, LINKCAST_MAX_TIME)");
  CHECK(refusal({"replay", 1, "events", 3.0 * 1024 * 1024, 1}).find("3 MiB of memory") != std::string::npos);
  CHECK(refusal({"replay", 1, "events", 1, 61, true}).find("replay: at least 1 events") == 0);
  const WithLimits none({kInfinite, kInfinite});
  CHECK(refusal({"replay", 1e30, "events", 1e30, 1e30}).empty());
}

TEST_CASE("limits are read with units, and none lifts them", "[work]") {
  CHECK(work::parse_memory_limit("16GiB", "o") == 16.0 * 1024 * 1024 * 1024);
  CHECK(work::parse_memory_limit("none", "o") == kInfinite);
  CHECK(work::parse_time_limit("90 min", "o") == 5400);
  CHECK(work::parse_time_limit("2h", "o") == 7200);
  CHECK(work::parse_time_limit("30s", "o") == 30);
  for (const char* wrong : {"", "10", "-1 s", "0 s", "1 day", "nan s", "inf s", "1e999 s", "3  s"})
    CHECK_THROWS_AS(work::parse_time_limit(wrong, "o"), InputError);
  for (const char* wrong : {"", "0B", "12", "-1GiB", "much"})
    CHECK_THROWS_AS(work::parse_memory_limit(wrong, "o"), InputError);
}

TEST_CASE("a flag that another thread raises ends the work", "[work]") {
  StopFlag flag;
  const Scope scope(flag);
  CHECK(stopped([] { work::look(); }) == Why::kGoesOn);
  std::thread([&] { flag.raise(Why::kGone); }).join();
  CHECK(stopped([] { work::look(); }) == Why::kGone);
}

TEST_CASE("a deadline ends the work within its looks, and only inside its scope", "[work]") {
  StopFlag flag;
  const auto many = [] {
    for (int i = 0; i < 2048; ++i) work::look();
  };
  {
    const Scope scope(flag, Scope::Clock::now() - std::chrono::seconds(1));
    CHECK(stopped(many) == Why::kDeadline);
    CHECK(refusal({"replay", 1, "events", 1, 1}).find("left for this request") != std::string::npos);
  }
  CHECK(stopped(many) == Why::kGoesOn);
  CHECK(Scope::current() == nullptr);
}

TEST_CASE("memory above the limit ends the work", "[work]") {
  StopFlag flag;
  const Scope scope(flag);
  const WithLimits small({1, kInfinite});
  CHECK_THROWS_AS(
      [] {
        for (int i = 0; i < 2048; ++i) work::look();
      }(),
      InputError);
  CHECK(work::memory_in_use_B() > 1e6);
}

TEST_CASE("the pace of the first second says what all rounds take", "[work]") {
  const WithLimits small({kInfinite, 10});
  work::Rounds few("noise", "samples", 20), many("noise", "samples", 100000);
  for (const double begin_s = work::thread_time_s(); work::thread_time_s() < begin_s + 1.05;) continue;
  CHECK_NOTHROW(few.done(10));
  CHECK_THROWS_AS(many.done(10), InputError);
}

}  // namespace linkcast::test::work_test
