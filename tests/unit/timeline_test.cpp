// A timeline is what ui.perfetto.dev and chrome://tracing read (Trace Event Format, Google).
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "sim/replay/replay_run.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::timeline_test {

namespace {

using Thread = std::pair<int, int>;  ///< process, thread

Json timeline_of(const std::string& trace, int repeat = 1) {
  std::ostringstream out;
  replay::ReplayRequest request{test::catalogue().machine("hgx-h200"), {{trace}}};
  request.interval = false;
  request.repeat = repeat;
  request.timeline = &out;
  replay::replay(test::catalogue(), request);
  return Json::parse(out.str())["traceEvents"];
}

constexpr const char* kKernel = "void f<4, g<int> >(int*)";

struct Slice {
  double begin_us, end_us;
  std::string name;
  [[nodiscard]] bool holds(double us) const { return begin_us <= us && us <= end_us; }
};

/// What the format asks of each event. @returns  slices of each thread
std::map<Thread, std::vector<Slice>> checked(const Json& events) {
  std::map<Thread, std::vector<Slice>> slices;
  std::set<Thread> named;
  for (const Json& event : events) {
    const std::string phase = event.at("ph");
    INFO(event.dump());
    REQUIRE(std::set<std::string>{"X", "M", "s", "f", "C"}.count(phase) == 1);
    CHECK((event.at("pid").is_number_integer() && event.at("tid").is_number_integer()));
    CHECK(event.at("name").is_string());
    const Thread thread{event["pid"], event["tid"]};
    if (phase == "M") {
      if (event["name"] == "thread_name") CHECK(named.insert(thread).second);
      continue;
    }
    CHECK(event.at("ts").get<double>() >= 0);
    if (phase == "X") {
      CHECK(event.at("dur").get<double>() >= 0);
      CHECK(named.count(thread) == 1);
      slices[thread].push_back(
          {event["ts"], event["ts"].get<double>() + event["dur"].get<double>(), event["name"].get<std::string>()});
    }
  }
  return slices;
}

/// One behind the other, or one in the other.
void check_nesting(std::vector<Slice> slices) {
  constexpr double kRounding_us = 1e-6;
  std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return a.begin_us != b.begin_us ? a.begin_us < b.begin_us : a.end_us > b.end_us;
  });
  std::vector<double> open;
  for (const Slice& slice : slices) {
    while (!open.empty() && open.back() <= slice.begin_us + kRounding_us) open.pop_back();
    if (!open.empty() && slice.end_us > open.back() + kRounding_us) FAIL(slice.name << " at " << slice.begin_us);
    open.push_back(slice.end_us);
  }
}

std::map<int, std::string> processes(const Json& events) {
  std::map<int, std::string> names;
  for (const Json& event : events)
    if (event["name"] == "process_name") names[event["pid"]] = event["args"]["name"];
  return names;
}

std::string events_of_two() {
  std::string text =
      R"({"schema":"trace/1","name":"t","ranks":2,"source":"test","launch_s":1e-5,"groups":{"all":[0,1]}})"
      "\n";
  const Json kernel{{"kind", "compute"}, {"host_s", 1e-4},  {"name", kKernel},
                    {"id", 1},           {"time_s", 0.001}, {"recorded_at_s", {0.0002, 0.0014}}};
  const Json call{{"kind", "collective"},
                  {"stream", "c"},
                  {"host_s", 2e-4},
                  {"id", 2},
                  {"after", {1}},
                  {"op", "all_reduce"},
                  {"group", "all"},
                  {"size_B", 1e6},
                  {"recorded_at_s", {0.0014, 0.0015}}};
  const Json sync{{"kind", "sync"}}, step{{"kind", "step"}, {"recorded_at_s", {0.0, 0.0015}}};
  for (int rank = 0; rank < 2; ++rank)
    for (Json line : {kernel, call, sync, step}) {
      line["rank"] = rank;
      text += line.dump() + "\n";
    }
  return text;
}

}  // namespace

TEST_CASE("timeline: slices nest, threads have names, arrows go from a launch to its work", "[replay][timeline]") {
  const Json events = timeline_of("h200x4-alexnet");
  const auto slices = checked(events);
  for (const auto& [thread, own] : slices) check_nesting(own);
  std::map<long, std::pair<Thread, double>> starts;
  long arrows = 0;
  const auto holds = [&](const Thread& thread, double us) {
    return std::any_of(slices.at(thread).begin(), slices.at(thread).end(),
                       [us](const Slice& slice) { return slice.holds(us); });
  };
  for (const Json& event : events) {
    const Thread thread{event["pid"], event["tid"]};
    if (event["ph"] == "s") {
      CHECK(holds(thread, event["ts"]));
      CHECK(starts.emplace(event["id"], std::pair(thread, event["ts"].get<double>())).second);
    }
    if (event["ph"] != "f") continue;
    ++arrows;
    const auto& [from, began_us] = starts.at(event["id"]);
    CHECK(from.first == thread.first);
    CHECK(began_us <= event["ts"].get<double>());
    CHECK(holds(thread, event["ts"]));
    CHECK(event["bp"] == "e");
  }
  CHECK(arrows == static_cast<long>(starts.size()));
  CHECK(arrows > 600);  // of the trace's 707 events nearly all take the CPU time
}

TEST_CASE("timeline: CPU, steps and the recording stand beside the forecast", "[replay][timeline]") {
  const ScratchFolder scratch;
  const std::string trace = (scratch / "t.jsonl").string();
  std::ofstream(trace) << events_of_two();
  const int repeat = GENERATE(1, 2);
  const Json events = timeline_of(trace, repeat);
  const auto slices = checked(events);
  for (const auto& [thread, own] : slices) check_nesting(own);
  const auto names = processes(events);
  CHECK(names.at(1) == "rank 0, gpu0");
  CHECK(names.at(2) == "rank 1, gpu1");
  CHECK(names.at(4) == "rank 0, as recorded");
  std::map<std::string, std::vector<Slice>> by_name;  // of rank 0
  for (const Json& event : events)
    if (event["name"] == "thread_name" && (event["pid"] == 1 || event["pid"] == 4))
      by_name[(event["pid"] == 1 ? "" : "recorded ") + event["args"]["name"].get<std::string>()] =
          slices.at({event["pid"], event["tid"]});
  REQUIRE(by_name.at("CPU").size() == 3u * static_cast<unsigned>(repeat));  // two launches, and it waits
  CHECK(by_name["CPU"][0].name == kKernel);
  CHECK_THAT(by_name["CPU"][1].end_us, WithinAbs(300, 1e-6));
  CHECK(by_name["CPU"][2].name == "waiting for the GPU");
  CHECK_THAT(by_name.at("stream 0")[0].begin_us, WithinAbs(110, 1e-6));  // 100 us of CPU, 10 us of launch
  CHECK_THAT(by_name.at("steps")[0].end_us, WithinAbs(by_name.at("stream c")[0].end_us, 1e-6));
  CHECK(by_name["steps"].size() == static_cast<std::size_t>(repeat));
  REQUIRE(by_name.at("recorded stream 0").size() == 1);  // once, however often it is repeated
  CHECK(by_name["recorded stream 0"][0].name == kKernel);
  CHECK_THAT(by_name["recorded stream 0"][0].begin_us, WithinAbs(200, 1e-6));
  CHECK_THAT(by_name.at("recorded steps")[0].end_us, WithinAbs(1500, 1e-6));
}

}  // namespace linkcast::test::timeline_test
