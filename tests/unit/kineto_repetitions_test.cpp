// The same work of all steps seen together: what passed during a collective, by hand.
#include "apps-traces/import/kineto_repetitions.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/limits.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::kineto_repetitions_test {

namespace {

using kineto::GpuWork;

GpuWork work_at(double start_s, double end_s, int step, bool communicates = false) {
  GpuWork work;
  work.shape = communicates ? "ring" : "gemm";
  work.start_s = start_s;
  work.end_s = end_s;
  work.launch_start_s = work.launch_end_s = start_s;
  work.step = step;
  work.communicates = communicates;
  return work;
}

double pure_s(const kineto::Repetitions& seen, std::size_t work) { return seen.pure(0, work).time_s; }

}  // namespace

TEST_CASE("kineto: a kernel is slower for the part of it that passes during collectives", "[unit][trace]") {
  kineto::RankRecording rank;
  rank.work = {work_at(0, 1, 0),   work_at(9, 13, 1, true),    work_at(10, 12, 1), work_at(19.5, 20.5, 2, true),
               work_at(20, 22, 2), work_at(21.5, 30, 2, true), work_at(40, 41, 3)};
  const kineto::Repetitions seen({rank}, {});
  CHECK_THAT(seen.slowdown(), WithinRel(2.0, 1e-12));  // 2 s during one, 1 s alone
  CHECK_THAT(pure_s(seen, 0), WithinRel(1.0, 1e-12));
  CHECK_THAT(pure_s(seen, 2), WithinRel(1.0, 1e-12));
  CHECK_THAT(pure_s(seen, 4), WithinRel(1.5, 1e-12));  // half a second during each of two, at half the speed
  CHECK_THAT(pure_s(seen, 6), WithinRel(1.0, 1e-12));
}

TEST_CASE("kineto: four times as much work takes four times as long to read", "[unit][trace]") {
  const auto time_s = [](int count) {
    kineto::RankRecording rank;
    for (int i = 0; i < count; ++i) rank.work.push_back(work_at(i, i + 0.9, i / 100, i % 2 == 1));
    for (int i = 1; i < count / 100; ++i) rank.pauses.emplace_back(100 * i - 0.05, 100 * i);
    double least_s = std::numeric_limits<double>::infinity();  // others take the cache and the clock at times
    for (int run = 0; run < 7; ++run) {
      const double start_s = work::thread_time_s();
      const kineto::Repetitions seen({rank}, {});
      least_s = std::min(least_s, work::thread_time_s() - start_s);
    }
    return least_s;
  };
  constexpr int kFew = 20000;
  CHECK(time_s(4 * kFew) < 9 * time_s(kFew));  // between linear, 4, and quadratic, 16
}

}  // namespace linkcast::test::kineto_repetitions_test
