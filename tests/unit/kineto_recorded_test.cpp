// What the importer keeps of when a recording's work ran.
#include "tests/unit/trace_import.hpp"

namespace linkcast::test::kineto_recorded_test {

namespace {

const std::string kKernel = "void at::native::fused<4, std::array<char*, 3ul> >(int)";

/// Two steps of two kernels: each is launched for 2 us and starts 10 us later. Times are microseconds.
std::string recording() {
  Json events = Json::array();
  int id = 0;
  const auto add = [&](const char* category, const std::string& name, double from, double to) {
    events.push_back({{"ph", "X"},
                      {"cat", category},
                      {"name", name},
                      {"tid", 1},
                      {"ts", from},
                      {"dur", to - from},
                      {"args", {{"correlation", id}, {"stream", 7}}}});
  };
  for (const double step : {1000.0, 1200.0}) {
    for (const double launch : {0.0, 50.0}) {
      ++id;
      add("cuda_runtime", "cudaLaunchKernel", step + launch, step + launch + 2);
      add("kernel", kKernel, step + launch + 12, step + launch + 40);
    }
    id += 100;
    add("user_annotation", "Optimizer.step#SGD.step", step + 49, step + 60);
  }
  return Json{{"traceEvents", events}}.dump();
}

void check_time(const TraceEvent& event, double begin_us, double end_us) {
  REQUIRE(event.recorded);
  CHECK_THAT(event.recorded->begin_s * 1e6, WithinAbs(begin_us, 1e-3));
  CHECK_THAT(event.recorded->end_s * 1e6, WithinAbs(end_us, 1e-3));
}

}  // namespace

TEST_CASE("kineto: recorded times begin with the first launch, steps end with their last work", "[unit][trace]") {
  const auto trace = trace_of("kineto", recording());
  REQUIRE(trace->events.size() == 6);
  check_time(trace->events[0], 12, 40);
  check_time(trace->events[1], 62, 90);
  check_time(trace->events[2], 0, 90);
  check_time(trace->events[3], 212, 240);
  check_time(trace->events[5], 90, 290);
  const auto second = trace_of("kineto", recording(), {{"skip", "1"}});
  REQUIRE(second->events.size() == 3);
  check_time(second->events[0], 212 - 90, 240 - 90);
  check_time(second->events[2], 0, 200);
}

TEST_CASE("kineto: names of kernels are whole unless short ones are asked for", "[unit][trace]") {
  CHECK(trace_of("kineto", recording())->events[0].name == kKernel);
  CHECK(trace_of("kineto", recording(), {{"names", "short"}})->events[0].name == "fused");
  CHECK(trace_error("kineto", recording(), {{"names", "long"}}) == "option names: 'long' is neither whole nor short");
}

}  // namespace linkcast::test::kineto_recorded_test
