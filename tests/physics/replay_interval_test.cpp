// The 90 % interval of a replay: with every network operation at the ends of its own.
#include <fstream>

#include "sim/query/query.hpp"
#include "sim/replay/replay_run.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::replay_interval_test {

namespace {

constexpr double kSize = 16777216;

struct Run {
  double low_s = 0, time_s = 0, high_s = 0;
  Json result{};
};

Run run_of(const Json& result) {
  return {result["time_low_s"].get<double>(), result["time_s"].get<double>(), result["time_high_s"].get<double>(),
          result};
}

/// @param lines  events of two ranks. @param nodes  0: on GPUs of one node
Run replayed(const std::string& platform, const Json& lines, int nodes = 0) {
  const test::ScratchFolder scratch;
  const std::string file = (scratch / "t.jsonl").string();
  {
    std::ofstream out(file);
    out << R"({"schema":"trace/1","name":"t","ranks":2,"source":"test","groups":{"all":[0,1]}})" << '\n';
    for (const Json& line : lines) out << line.dump() << '\n';
  }
  replay::ReplayRequest request;
  request.machine = test::catalogue().machine(platform);
  request.parts = {{file}};
  request.nodes = nodes;
  request.gpus_per_node = nodes > 0 ? 1 : 0;
  return run_of(replay::to_json(replay::replay(test::catalogue(), request)));
}

Json call(int rank) {
  return {{"rank", rank}, {"kind", "collective"}, {"op", "all_reduce"}, {"group", "all"}, {"size_B", kSize}};
}

Json compute(int rank, double time_s) { return {{"rank", rank}, {"kind", "compute"}, {"time_s", time_s}}; }

Run forecast(Json query) {
  query["size_B"] = kSize;
  return run_of(query::answer_or_throw(test::catalogue(), query, "test"));
}

Run collective(const std::string& platform) {
  return forecast({{"kind", "collective"},
                   {"launch", "graph"},
                   {"platform", platform},
                   {"op", "all_reduce"},
                   {"gpus", {0, 1}},
                   {"calls", 1}});
}

void check_same(const Run& replayed, const Run& forecast, double more_s = 0) {
  CHECK(forecast.low_s < forecast.time_s);
  CHECK(forecast.time_s < forecast.high_s);
  CHECK_THAT(replayed.low_s, WithinRel(forecast.low_s + more_s, kExact));
  CHECK_THAT(replayed.time_s, WithinRel(forecast.time_s + more_s, kExact));
  CHECK_THAT(replayed.high_s, WithinRel(forecast.high_s + more_s, kExact));
}

}  // namespace

TEST_CASE("replay: the interval of one operation is that of its own forecast", "[replay]") {
  for (const std::string platform : {"hgx-h200", "p100-dgx1", "gx8"})
    check_same(replayed(platform, {call(0), call(1)}), collective(platform));
  check_same(
      replayed("hgx-h200", {{{"rank", 1}, {"kind", "copy"}, {"copy", "h2d"}, {"size_B", kSize}}}),
      forecast({{"kind", "p2p"}, {"platform", "hgx-h200"}, {"src", "cpu0"}, {"dst", "gpu1"}, {"timing", "single"}}));
  check_same(replayed("alps", {call(0), call(1)}, 2), forecast({{"kind", "collective"},
                                                                {"launch", "graph"},
                                                                {"platform", "alps"},
                                                                {"op", "all_reduce"},
                                                                {"nodes", 2},
                                                                {"gpus_per_node", 1},
                                                                {"calls", 1}}));
  const Json message{{{"rank", 0}, {"kind", "send"}, {"peer", 1}, {"size_B", kSize}},
                     {{"rank", 1}, {"kind", "recv"}, {"peer", 0}, {"size_B", kSize}}};
  for (const std::string platform : {"summit", "leonardo"})
    check_same(replayed(platform, message, 2),
               forecast({{"kind", "p2p"}, {"platform", platform}, {"src", "node0/gpu0"}, {"dst", "node1/gpu0"}}));
}

TEST_CASE("replay: what is computed has no interval, what waits for the network has that of the network", "[replay]") {
  constexpr double kCompute_s = 0.25;
  const Run alone = replayed("hgx-h200", {compute(0, kCompute_s), compute(1, kCompute_s)});
  CHECK(alone.low_s == kCompute_s);
  CHECK(alone.high_s == kCompute_s);
  check_same(replayed("hgx-h200", {compute(0, kCompute_s), call(0), call(1), compute(1, kCompute_s)}),
             collective("hgx-h200"), 2 * kCompute_s);
  Json beside = call(1);
  beside["stream"] = "other";
  Json early = call(0);
  early["stream"] = "other";
  const Run hidden = replayed("hgx-h200", {early, compute(0, kCompute_s), beside, compute(1, kCompute_s)});
  CHECK(hidden.low_s == kCompute_s);
  CHECK(hidden.high_s == kCompute_s);
}

TEST_CASE("replay: the interval of a step, and of each job", "[replay]") {
  replay::ReplayRequest request;
  request.machine = test::catalogue().machine("hgx-h200");
  request.parts = {{"data_parallel", {}, 0, {{"ranks", "4"}}}, {"data_parallel", {}, 0, {{"ranks", "2"}}}};
  const Json result = replay::to_json(replay::replay(test::catalogue(), request));
  for (const Json& row : {result, result["jobs"][0], result["jobs"][1]}) {
    CHECK(row["step_time_low_s"] < row["step_time_s"]);
    CHECK(row["step_time_s"] < row["step_time_high_s"]);
  }
  CHECK(result["time_low_s"] < result["makespan_s"]);
  CHECK(result["makespan_s"] < result["time_high_s"]);
  CHECK(result["jobs"][0]["step_time_low_s"] == result["step_time_low_s"]);
}

TEST_CASE("replay: without interval its ends are null, and all else is the same", "[replay]") {
  Json query{{"kind", "replay"}, {"platform", "hgx-h200"}, {"trace", "data_parallel"}};
  query["also"] = Json::array({{{"trace", "data_parallel"}, {"options", {{"ranks", 2}}}}});
  query["options"] = {{"ranks", 4}};
  Json with = query::answer_or_throw(test::catalogue(), query, "test");
  query["interval"] = true;
  CHECK(query::answer_or_throw(test::catalogue(), query, "test")["time_low_s"] == with["time_low_s"]);
  query["interval"] = false;
  Json without = query::answer_or_throw(test::catalogue(), query, "test");
  for (const std::string end : {"time_low_s", "time_high_s", "step_time_low_s", "step_time_high_s"}) {
    CHECK(with.at(end).is_number());
    CHECK(without.at(end).is_null());
    with.erase(end);
    without.erase(end);
  }
  for (Json* answer : {&with, &without})
    for (Json& job : (*answer)["jobs"])
      for (const char* end : {"step_time_low_s", "step_time_high_s"}) {
        CHECK(job.at(end).is_null() == (answer == &without));
        job.erase(end);
      }
  for (Json* answer : {&with, &without}) answer->erase("inputs");
  CHECK(with == without);
}

TEST_CASE("replay: a message of no bytes takes the start-up", "[replay]") {
  const Json message{{{"rank", 0}, {"kind", "send"}, {"peer", 1}, {"size_B", 0}},
                     {{"rank", 1}, {"kind", "recv"}, {"peer", 0}, {"size_B", 0}}};
  const auto least = [](const std::string& platform, const char* src, const char* dst) {
    return query::answer_or_throw(test::catalogue(),
                                  {{"kind", "p2p"}, {"platform", platform}, {"src", src}, {"dst", dst}, {"size_B", 1}},
                                  "test")
        .at("time_s")
        .get<double>();
  };
  constexpr double kOneByte = 1e-3;  // what the byte itself takes, of some microseconds
  CHECK_THAT(replayed("alps", message, 2).time_s, WithinRel(least("alps", "node0/gpu0", "node1/gpu0"), kOneByte));
  const double node_s = query::answer_or_throw(test::catalogue(),
                                               {{"kind", "collective"},
                                                {"launch", "graph"},
                                                {"platform", "hgx-h200"},
                                                {"op", "sendrecv"},
                                                {"gpus", {0, 1}},
                                                {"size_B", 1},
                                                {"calls", 1}},
                                               "test")
                            .at("time_s")
                            .get<double>();
  CHECK_THAT(replayed("hgx-h200", message).time_s, WithinRel(node_s, kOneByte));
}

}  // namespace linkcast::test::replay_interval_test
