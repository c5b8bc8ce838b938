// Copies between GPUs in recordings: whose GPU is at the other end, and what is said where nobody can tell.
#include "tests/support/catch.hpp"
#include "tests/unit/kineto_timeline.hpp"

namespace linkcast::test::kineto_peers_test {

namespace {

/// One kernel and one copy of 1 MB between two GPUs, by the rank with GPU `own`.
std::string recording(int rank, int ranks, int own, int from, int to) {
  Timeline timeline;
  timeline.kernel("first", 0, 5, 10, 20, {{"device", own}});
  timeline.kernel("Memcpy PtoP (Device -> Device)", 20, 25, 30, 40,
                  {{"device", own}, {"bytes", 1e6}, {"fromDevice", from}, {"toDevice", to}});
  Json json = timeline.json(rank, ranks);
  for (Json& event : json["traceEvents"])
    if (event["name"].get<std::string>().rfind("Memcpy", 0) == 0) event["cat"] = "gpu_memcpy";
  return json.dump();
}

std::unique_ptr<Kept> imported(const std::vector<std::string>& texts) {
  const ScratchFolder scratch;
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    paths.push_back((scratch / std::to_string(i)).string());
    std::ofstream(paths.back(), std::ios::binary) << texts[i];
  }
  return imported_trace("kineto", paths);
}

}  // namespace

TEST_CASE("kineto: a copy to another GPU is one to its rank", "[unit][trace]") {
  const auto trace = imported({recording(0, 2, 0, 0, 1), recording(1, 2, 1, 1, 0)});
  for (const int rank : {0, 1}) {
    const TraceEvent copy = trace->of(rank).at(1);
    CHECK(copy.kind == TraceKind::kCopy);
    CHECK(copy.op == "d2d");
    CHECK(copy.peer == 1 - rank);
    CHECK(copy.size_B == 1e6);
  }
  CHECK_FALSE(trace->notes("between GPUs"));
}

TEST_CASE("kineto: copies of a bundle find their rank too", "[unit][trace]") {
  const auto bundle = [](int rank) {
    const Json timeline = Json::parse(recording(rank, 2, rank, rank, 1 - rank));
    return Json{{"schema", "recorded-steps/1"}, {"rank", rank},          {"ranks", 2},         {"untraced_steps", 20},
                {"step_time_s", 1e-3},          {"operators", timeline}, {"timings", timeline}}
        .dump();
  };
  const auto trace = imported({bundle(0), bundle(1)});
  for (const int rank : {0, 1}) CHECK(trace->of(rank).at(1).peer == 1 - rank);
  CHECK_FALSE(trace->notes("between GPUs"));
}

TEST_CASE("kineto: a copy from another GPU is taken the other way, with a note", "[unit][trace]") {
  const auto trace = imported({recording(0, 2, 0, 1, 0), recording(1, 2, 1, 1, 0)});
  CHECK(trace->of(0).at(1).peer == 1);
  CHECK(trace->notes("assumed: 1 copies from other GPUs"));
}

TEST_CASE("kineto: a copy whose other end is told by nobody keeps its time, and that is said", "[unit][trace]") {
  for (const auto& texts :
       {std::vector<std::string>{recording(0, 1, 0, 0, 1)},                            // no such rank
        std::vector<std::string>{recording(0, 2, 0, 0, 3), recording(1, 2, 1, 1, 0)},  // nor here
        std::vector<std::string>{recording(0, 3, 0, 0, 1), recording(1, 3, 1, 1, 0), recording(2, 3, 1, 1, 0)}}) {
    const auto trace = imported(texts);
    const TraceEvent copy = trace->of(0).at(1);
    CHECK(copy.kind == TraceKind::kCompute);
    CHECK_THAT(copy.time_s, WithinAbs(10e-6, 1e-9));
    CHECK(trace->notes("copies between GPUs take as long as recorded"));
  }
}

}  // namespace linkcast::test::kineto_peers_test
