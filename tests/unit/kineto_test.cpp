// Recordings of torch.profiler: what is refused, where steps end, and what the recording itself took.
#include "tests/support/catch.hpp"
#include "tests/unit/kineto_timeline.hpp"

namespace linkcast::test::kineto_test {

namespace {

std::vector<double> host_us(const Kept& trace) {
  std::vector<double> found;
  for (const TraceEvent& event : trace.events)
    if (event.kind == TraceKind::kCompute) found.push_back(event.host_s * 1e6);
  return found;
}

int steps_of(const Kept& trace) {
  return static_cast<int>(std::count_if(trace.events.begin(), trace.events.end(),
                                        [](const TraceEvent& event) { return event.kind == TraceKind::kStep; }));
}

}  // namespace

TEST_CASE("kineto: NCCL's kernels that nothing describes are refused, with what to do", "[unit][trace]") {
  Timeline timeline;
  timeline.kernel("first", 0, 5, 10, 20);
  timeline.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 20, 25, 30, 40);
  CHECK(trace_error("kineto", timeline.text()) ==
        "FILE: holds CUDA activities alone, in which NCCL's kernels have no operation, size and group: record CPU "
        "activities too, or both with 'linkcast record'");
  timeline.op(1);
  CHECK(trace_error("kineto", timeline.text()) ==
        "FILE:/traceEvents/3: args: an NCCL kernel without 'Collective name': this PyTorch does not record it");
}

TEST_CASE("kineto: a GPU's own work needs no operators", "[unit][trace]") {
  Timeline timeline;
  timeline.kernel("first", 0, 5, 10, 20);
  const auto trace = trace_of("kineto", timeline.text());
  CHECK(trace->events.size() == 2);
  CHECK(steps_of(*trace) == 1);
  CHECK(trace->head.notes.back().rfind("assumed: the recording is one step", 0) == 0);
}

TEST_CASE("kineto: the profiler's marks end steps, and what it does between them is no CPU time", "[unit][trace]") {
  Timeline timeline;
  for (int step = 0; step < 3; ++step) {
    const double at = 1000 * step;
    timeline.span("ProfilerStep#" + std::to_string(step + 1), at, at + 400);
    timeline.kernel("a", at + 100, at + 110, at + 120, at + 130);
    timeline.kernel("b", at + 200, at + 210, at + 220, at + 230);
  }
  const auto trace = trace_of("kineto", timeline.text());
  CHECK(steps_of(*trace) == 3);
  // From b's launch at 210 to a's next one at 1110 pass 900, 600 of them between the marks.
  const std::vector<double> host = host_us(*trace);
  REQUIRE(host.size() == 6);
  for (const std::size_t a : {2U, 4U}) CHECK_THAT(host[a], WithinAbs(300, 1e-6));
  for (const std::size_t b : {1U, 3U, 5U}) CHECK_THAT(host[b], WithinAbs(100, 1e-6));
}

}  // namespace linkcast::test::kineto_test
