// What a replay says of each kind of collective and of the recording, against times worked out by hand.
#include <fstream>

#include "sim/machine/collective.hpp"
#include "sim/query/query.hpp"
#include "sim/replay/replay_run.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::replay_operations_test {

namespace {

constexpr double kSize = 16777216;
constexpr double kExact = 1e-9;

Json replayed(const Json& lines) {
  const test::ScratchFolder scratch;
  const std::string file = (scratch / "t.jsonl").string();
  {
    std::ofstream out(file);
    out << R"({"schema":"trace/1","name":"t","ranks":3,"source":"test","groups":{"all":[0,1,2]}})" << '\n';
    for (const Json& line : lines) out << line.dump() << '\n';
  }
  replay::ReplayRequest request{test::catalogue().machine("hgx-h200"), {{file}}};
  request.interval = false;
  return replay::to_json(replay::replay(test::catalogue(), request));
}

Json compute(int rank, double time_s, const std::string& stream = "0") {
  return {{"rank", rank}, {"kind", "compute"}, {"stream", stream}, {"time_s", time_s}};
}
Json call(int rank, const std::string& op = "all_reduce") {
  return {{"rank", rank}, {"kind", "collective"}, {"op", op}, {"group", "all"}, {"size_B", kSize}};
}
Json message(int rank, const std::string& kind, int peer, double size_B) {
  return {{"rank", rank}, {"kind", kind}, {"peer", peer}, {"size_B", size_B}};
}
Json step(int rank) { return {{"rank", rank}, {"kind", "step"}}; }
Json with(Json line, double begin_s, double end_s) {
  line["recorded_at_s"] = {begin_s, end_s};
  return line;
}

double forecast_s(const std::string& op) {
  return query::answer_or_throw(test::catalogue(),
                                {{"kind", "collective"},
                                 {"launch", "graph"},
                                 {"platform", "hgx-h200"},
                                 {"op", op},
                                 {"gpus", {0, 1, 2}},
                                 {"size_B", kSize},
                                 {"calls", 1}},
                                "test")["time_s"];
}

}  // namespace

TEST_CASE("replay: calls, bytes, time and bus bandwidth of each operation", "[replay][operations]") {
  Json lines;
  for (const char* op : {"all_reduce", "all_gather", "all_reduce"})
    for (int rank = 0; rank < 3; ++rank) lines.push_back(call(rank, op));
  const Json rows = replayed(lines)["operations"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["op"] == "all_gather");
  CHECK(rows[1]["calls"] == 2);
  CHECK(rows[1]["size_B"] == 2 * kSize);
  const double reduce_s = forecast_s("all_reduce");
  CHECK_THAT(rows[0]["time_s"].get<double>(), WithinRel(forecast_s("all_gather"), 1e-6));
  CHECK_THAT(rows[1]["time_s"].get<double>(), WithinRel(2 * reduce_s, 1e-6));
  // nccl-tests: 2 (n - 1) / n of the size over the time
  CHECK_THAT(rows[1]["bus_bandwidth_Bps"].get<double>(), WithinRel(4.0 / 3 * kSize / reduce_s, 1e-6));
  CHECK(rows[1]["recorded_s"].is_null());
}

TEST_CASE("replay: what is exposed of an operation lies beside no compute", "[replay][operations]") {
  // Rank 0 computes 1 s on another stream, the others nothing; rank 2 comes 0.25 s late.
  const Json rows = replayed({compute(0, 1, "1"), call(0), call(1), compute(2, 0.25), call(2)})["operations"];
  const double time_s = forecast_s("all_reduce");
  REQUIRE(time_s < 0.5);
  CHECK_THAT(rows[0]["time_s"].get<double>(), WithinRel(time_s, 1e-6));
  CHECK_THAT(rows[0]["exposed_s"].get<double>(), WithinRel((0 + (0.25 + time_s) + time_s) / 3, 1e-6));
}

TEST_CASE("replay: messages are one row, of the ranks that have some", "[replay][operations]") {
  const Json rows = replayed({message(0, "send", 1, kSize), message(1, "recv", 0, kSize), message(1, "send", 2, kSize),
                              message(2, "recv", 1, kSize)})["operations"];
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["op"] == "message");
  CHECK_THAT(rows[0]["calls"].get<double>(), WithinRel(4.0 / 3, kExact));  // 1, 2 and 1
  CHECK_THAT(rows[0]["size_B"].get<double>(), WithinRel(4.0 / 3 * kSize, kExact));
  CHECK_THAT(rows[0]["bus_bandwidth_Bps"].get<double>(),
             WithinRel(rows[0]["size_B"].get<double>() / rows[0]["time_s"].get<double>(), kExact));
}

TEST_CASE("replay: recorded is the rank that waited least, and the median rank's step", "[replay][operations]") {
  Json lines;
  const double began_s[] = {0.1, 0.2, 0.4}, ends_s[] = {1, 2, 5};
  for (int rank = 0; rank < 3; ++rank) lines.push_back(with(call(rank), began_s[rank], 0.5));
  for (int rank = 0; rank < 3; ++rank) lines.push_back(with(step(rank), 0, ends_s[rank]));
  const Json result = replayed(lines);
  const Json row = result["operations"][0];
  CHECK_THAT(row["recorded_s"].get<double>(), WithinRel(0.1, kExact));
  CHECK_THAT(row["recorded_bus_bandwidth_Bps"].get<double>(), WithinRel(4.0 / 3 * kSize / 0.1, kExact));
  CHECK(result["recorded_steps_s"] == Json{2.0});
  CHECK(result["recorded_step_time_s"] == 2.0);
  // One rank that does not say it, and nothing is said.
  lines[0].erase("recorded_at_s");
  lines[3].erase("recorded_at_s");
  const Json partly = replayed(lines);
  CHECK(partly["operations"][0]["recorded_s"].is_null());
  CHECK(partly["recorded_steps_s"].empty());
  CHECK(partly["recorded_step_time_s"].is_null());
  // One call of two that none says is left out of no sum: nothing is said of both.
  Json calls;
  for (int rank = 0; rank < 3; ++rank) calls.push_back(with(call(rank), 0.1, 0.5));
  for (int rank = 0; rank < 3; ++rank) calls.push_back(call(rank));
  const Json one = replayed(calls)["operations"][0];
  CHECK(one["calls"] == 2);
  CHECK(one["recorded_s"].is_null());
  CHECK(one["recorded_bus_bandwidth_Bps"].is_null());
}

}  // namespace linkcast::test::replay_operations_test
