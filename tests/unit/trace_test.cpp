// The trace reader, and what `linkcast replay` writes besides its result.
#include "sim/records/trace.hpp"

#include <map>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::trace_test {

namespace {

const std::string kHeader = R"({"schema":"trace/1","name":"t","ranks":2,"source":"test","groups":{"all":[0,1]}})"
                            "\n";

TraceReader reader(const std::string& text) { return {std::make_unique<std::istringstream>(text), "t"}; }

std::string error_of(const std::string& text) {
  try {
    TraceReader trace = reader(text);
    while (trace.next()) continue;
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string of_event(const std::string& line) { return error_of(kHeader + line + "\n"); }

}  // namespace

TEST_CASE("trace: what is written is read again", "[trace]") {
  const std::string text =
      kHeader +
      R"({"rank":0,"kind":"compute","stream":"7","host_s":1e-06,"name":"a","part":"forward","id":3,"time_s":0.5,"slowdown":1.5}
{"rank":1,"kind":"compute","host_s":1e-06,"recording_s":2e-06,"time_s":0.5}
{"rank":1,"kind":"copy","id":-4,"copy":"h2d","size_B":100.0}
{"rank":0,"kind":"collective","after":[3],"op":"all_reduce","group":"all","size_B":8.0}
{"rank":0,"kind":"send","peer":1,"tag":"x","size_B":9.0}
{"rank":1,"kind":"recv","peer":0,"tag":"x","size_B":9.0}
{"rank":1,"kind":"sync","stream":"7","after":[-4]}
{"rank":1,"kind":"step"}
{"rank":0,"kind":"compute","id":4,"time_s":0.5,"recorded_at_s":[0.25,0.75]}
{"rank":0,"kind":"copy","copy":"d2d","peer":1,"size_B":100.0,"recorded_at_s":[0.75,0.75]}
{"rank":0,"kind":"collective","op":"all_reduce","group":"all","size_B":8.0,"recorded_at_s":[1.0,2.0]}
{"rank":0,"kind":"step","recorded_at_s":[0.0,2.0]}
)";
  TraceReader trace = reader(text);
  std::string again = trace_line(to_json(trace.header()));
  while (const auto event = trace.next()) again += trace_line(to_json(*event));
  CHECK(again == text);
}

TEST_CASE("trace: how much compute slows collectives", "[trace]") {
  const std::string head = R"({"schema":"trace/1","name":"n","ranks":1,"source":"s","collective_slowdown":)";
  TraceReader trace = reader(head + "1.08}\n");
  CHECK(trace.header().collective_slowdown == 1.08);
  CHECK(to_json(trace.header())["collective_slowdown"] == 1.08);
  CHECK(error_of(head + "0.5}\n") == "t line 1:/collective_slowdown: must be at least 1");
}

TEST_CASE("trace: each error names line and place", "[trace]") {
  using Case = std::pair<std::string, std::string>;
  for (const auto& [line, what] : {
           Case{R"({"rank":2,"kind":"step"})", "t line 2:/rank: must be 0 to 1"},
           Case{R"({"rank":-1,"kind":"step"})", "t line 2:/rank: must be 0 to 1"},
           Case{R"({"rank":0})", "t line 2:/kind: missing key"},
           Case{R"({"kind":"step"})", "t line 2:/rank: missing key"},
           Case{R"({"rank":0,"kind":"compute"})", "t line 2:/time_s: missing key"},
           Case{R"({"rank":0,"kind":"compute","time_s":-1})", "t line 2:/time_s: must not be negative"},
           Case{R"({"rank":0,"kind":"compute","time_s":"1"})", "t line 2:/time_s: must be a number"},
           Case{R"({"rank":0,"kind":"compute","time_s":1,"slowdown":0.5})", "t line 2:/slowdown: must be at least 1"},
           Case{R"({"rank":0,"kind":"compute","time_s":1,"host_s":-1})", "t line 2:/host_s: must not be negative"},
           Case{R"({"rank":0,"kind":"step","recording_s":-1})", "t line 2:/recording_s: must not be negative"},
           Case{R"({"rank":0,"kind":"copy","copy":"h2h","size_B":1})", "t line 2:/copy: 'h2h' is not allowed"},
           Case{R"({"rank":0,"kind":"copy","copy":"h2d"})", "t line 2:/size_B: missing key"},
           Case{R"({"rank":0,"kind":"copy","copy":"h2d","size_B":-1})", "t line 2:/size_B: must not be negative"},
           Case{R"({"rank":0,"kind":"collective","op":"x","group":"no","size_B":1})",
                "t line 2:/group: is not among the header's groups"},
           Case{R"({"rank":0,"kind":"send","peer":2,"size_B":1})", "t line 2:/peer: must be 0 to 1"},
           Case{R"({"rank":0,"kind":"step","size_B":1})", "t line 2:/size_B: unknown key"},
           Case{R"({"rank":0,"kind":"step","after":[1]})",
                "t line 2:/after: must name earlier events of the same rank"},
           Case{R"({"rank":0,"kind":"step","after":1})", "t line 2:/after: must be an array"},
           Case{R"({"rank":0,"rank":0,"kind":"step"})", "t line 2:/rank: duplicate key"},
           Case{R"({"rank":0,"kind":"step")", "t line 2: not JSON"},
           Case{R"({"rank":0,"kind":"copy","copy":"h2d","peer":1,"size_B":1})", "t line 2:/peer: is of a copy d2d"},
           Case{R"({"rank":0,"kind":"copy","copy":"d2d","peer":0,"size_B":1})", "t line 2:/peer: must be another rank"},
           Case{R"({"rank":0,"kind":"copy","copy":"d2d","peer":2,"size_B":1})", "t line 2:/peer: must be 0 to 1"},
           Case{R"({"rank":0,"kind":"step","recorded_at_s":[1]})", "t line 2:/recorded_at_s: must be two times"},
           Case{R"({"rank":0,"kind":"step","recorded_at_s":[1,2,3]})", "t line 2:/recorded_at_s: must be two times"},
           Case{R"({"rank":0,"kind":"step","recorded_at_s":[2,1]})", "t line 2:/recorded_at_s: must be two times"},
           Case{R"({"rank":0,"kind":"step","recorded_at_s":[-1,1]})", "t line 2:/recorded_at_s: must be two times"},
           Case{R"({"rank":0,"kind":"step","recorded_at_s":1})", "t line 2:/recorded_at_s: must be an array"},
           Case{R"({"rank":0,"kind":"sync","recorded_at_s":[0,1]})", "t line 2:/recorded_at_s: unknown key"},
           Case{R"([])", "t line 2:/: must be an object"},
           Case{R"({"rank":0,"kind":"compute","time_s":1e999})", "t line 2: not JSON"},
       }) {
    INFO(line);
    CHECK(of_event(line).rfind(what, 0) == 0);
  }
  CHECK(of_event(R"({"rank":0,"kind":"step","id":5})"
                 "\n"
                 R"({"rank":0,"kind":"step","id":5})") ==
        "t line 3:/id: must be larger than those before it in the same rank");
  CHECK(error_of("") == "t: is empty, its first line must be a header of schema trace/1");
  CHECK(error_of(R"({"schema":"trace/1","name":"t","ranks":2,"source":"x","groups":{"a":[0,0]}})")
            .find("t line 1:/groups/a: must name each rank once") == 0);
  CHECK(error_of(R"({"schema":"trace/1","name":"t","ranks":0,"source":"x"})") ==
        "t line 1:/ranks: must be 1 to 1000000");
  CHECK(error_of(R"({"schema":"trace/1","name":"t","ranks":1000000000,"source":"x"})") ==
        "t line 1:/ranks: must be 1 to 1000000");
}

namespace {

/// A generated training job, replayed with more options.
Run replay_training(const ScratchFolder& scratch, const std::string& options) {
  const std::string trace = "'" + (scratch / "t.jsonl").string() + "'";
  REQUIRE(run_program("trace data_parallel --out " + trace).code == 0);
  std::string all = options;
  for (std::size_t at = 0; (at = all.find("TRACE", at)) != std::string::npos;) all.replace(at, 5, trace);
  return run_program("replay " + trace + " --platform p100-dgx1 --json " + all);
}

}  // namespace

TEST_CASE("replay: a timeline is JSON whose slices lie one in the other", "[trace][replay]") {
  const ScratchFolder scratch;
  const std::string out = (scratch / "timeline.json").string();
  const Run run = replay_training(scratch, "--timeline '" + out + "'");
  REQUIRE(run.code == 0);
  const double makespan_s = Json::parse(run.out)["makespan_s"];
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> threads;
  double last_us = 0;
  int computes = 0;
  const Json timeline = Json::parse(text_of_file(out));
  for (const Json& event : timeline["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const double begin = event["ts"];
    const double end = begin + event["dur"].get<double>();
    CHECK((begin >= 0 && end >= begin));
    computes += event.value("cat", "") == "compute" ? 1 : 0;
    last_us = std::max(last_us, end);
    threads[{event["pid"], event["tid"]}].emplace_back(begin, end);
  }
  CHECK(computes == 4 * 3 * 6);  // ranks, steps, forward and 4 buckets and update
  CHECK_THAT(last_us, WithinAbs(makespan_s * 1e6, 1e-3));
  CHECK(threads.size() == 4 * 4);  // two streams, the CPU, which waits for the GPU, and the steps
  for (const auto& [thread, slices] : threads)
    for (const auto& a : slices)
      for (const auto& b : slices) {
        const bool apart = a.second <= b.first + 1e-6 || b.second <= a.first + 1e-6;
        const bool inside =
            (a.first <= b.first && b.second <= a.second) || (b.first <= a.first && a.second <= b.second);
        if (!apart && !inside) FAIL("slices overlap at " << a.first << " and " << b.first);
      }
}

TEST_CASE("replay: bins of utilisation add up to the totals", "[trace][replay]") {
  const ScratchFolder scratch;
  const Run run = replay_training(scratch, "--utilisation --repeat 3");
  REQUIRE(run.code == 0);
  const Json result = Json::parse(run.out);
  CHECK(result["steps_s"].size() == 9);
  const Json& use = result["utilisation"];
  const auto total = [&](const Json& bins) {
    double sum = 0;
    for (const Json& bin : bins) {
      CHECK((bin >= 0.0 && bin <= 1 + 1e-9));
      sum += bin.get<double>() * use["bin_s"].get<double>();
    }
    CHECK(bins.size() <= 200);
    return sum;
  };
  REQUIRE(use["ranks"].size() == 4);
  for (std::size_t i = 0; i < 4; ++i)
    for (const std::string part : {"compute", "communication", "exposed"})
      CHECK_THAT(total(use["ranks"][i][part]), WithinAbs(result["ranks"][i][part + "_s"].get<double>(), 1e-9));
  REQUIRE(use["links"].size() == result["links"].size());
  for (const Json& link : result["links"])
    CHECK_THAT(total(use["links"][link["id"].get<std::string>()]) / result["makespan_s"].get<double>(),
               WithinRel(link["utilisation"].get<double>(), 1e-9));
}

TEST_CASE("replay: several jobs, and options that cannot be", "[trace][replay]") {
  const ScratchFolder scratch;
  const Run alone = replay_training(scratch, "--placement 0-3");
  const Run both = replay_training(scratch, "--placement 0-3 --also TRACE:4-7");
  REQUIRE(both.code == 0);
  const Json jobs = Json::parse(both.out)["jobs"];
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[1]["gpus"] == Json({4, 5, 6, 7}));
  // GPUs 0-3 and 4-7 of this machine each have links of their own.
  CHECK_THAT(jobs[0]["step_time_s"].get<double>(),
             WithinRel(Json::parse(alone.out)["step_time_s"].get<double>(), 1e-9));
  CHECK(replay_training(scratch, "--also TRACE:4-8").code == 2);
  CHECK(replay_training(scratch, "--also TRACE --also TRACE").code == 2);
  CHECK(replay_training(scratch, "--repeat 0").code == 2);
  CHECK(replay_training(scratch, "--timeline /dev/full").code == 2);
}

}  // namespace linkcast::test::trace_test
