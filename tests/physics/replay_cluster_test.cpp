// Replays over nodes against forecasts of single messages and collectives.
#include <fstream>

#include "sim/forecast/query.hpp"
#include "sim/replay/replay_run.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace {

using namespace linkcast;

constexpr double kExact = 1e-9;

/// @param lines  events of ranks 0 to 2, one GPU a node
double makespan_s(const std::string& platform, const std::string& lines) {
  const test::ScratchFolder scratch;
  const std::string file = (scratch / "t.jsonl").string();
  std::ofstream(file) << R"({"schema":"trace/1","name":"t","ranks":3,"source":"test","groups":{"pair":[0,1]}})" << '\n'
                      << lines;
  ReplayRequest request;
  request.platform = platform;
  request.parts = {{file}};
  request.nodes = 3;
  request.gpus_per_node = 1;
  return replay(test::catalogue(), request)["makespan_s"].get<double>();
}

std::string message(int from, int to, const std::string& stream, double size_B) {
  const auto one = [&](int rank, int peer, const char* kind) {
    return Json{{"rank", rank}, {"kind", kind}, {"stream", stream}, {"peer", peer}, {"size_B", size_B}}.dump() + "\n";
  };
  return one(from, to, "send") + one(to, from, "recv");
}

double forecast_s(const Json& query) {
  return answer_or_throw(test::catalogue(), query, "test")["time_s"].get<double>();
}

double p2p_s(const std::string& platform, int to, double size_B) {
  return forecast_s({{"kind", "p2p"},
                     {"platform", platform},
                     {"src", "node0/gpu0"},
                     {"dst", "node" + std::to_string(to) + "/gpu0"},
                     {"size_B", size_B}});
}

}  // namespace

TEST_CASE("replay over nodes: one message takes what its forecast says", "[replay]") {
  for (const std::string platform : {"apenet-plus", "summit", "alps"})
    for (const double size_B : {4096.0, 16777216.0}) {
      INFO(platform << " " << size_B);
      CHECK_THAT(makespan_s(platform, message(0, 1, "a", size_B)), WithinRel(p2p_s(platform, 1, size_B), kExact));
    }
}

TEST_CASE("replay over nodes: a card with an engine gives two messages together what it gives one", "[replay]") {
  constexpr double kSize = 16777216;
  const double both_s = makespan_s("apenet-plus", message(0, 1, "a", kSize) + message(0, 2, "b", kSize));
  // one message of both sizes has the same bytes and one start-up; node 2 is one hop of 0.2 us further
  CHECK_THAT(both_s, WithinRel(p2p_s("apenet-plus", 1, 2 * kSize), 1e-3));
  const double own_way_s = makespan_s("apenet-plus", message(0, 1, "a", kSize) + message(2, 0, "b", kSize));
  CHECK_THAT(own_way_s, WithinRel(p2p_s("apenet-plus", 1, kSize), 1e-3));  // in and out are apart
}

TEST_CASE("replay over nodes: a collective over nodes takes what its forecast says", "[replay]") {
  const auto call = [](int rank) {
    return Json{{"rank", rank}, {"kind", "collective"}, {"op", "all_reduce"}, {"group", "pair"}, {"size_B", 1048576}}
               .dump() +
           "\n";
  };
  const double alone_s = forecast_s({{"kind", "collective"},
                                     {"platform", "alps"},
                                     {"op", "all_reduce"},
                                     {"nodes", 2},
                                     {"gpus_per_node", 1},
                                     {"size_B", 1048576},
                                     {"calls", 1}});
  CHECK_THAT(makespan_s("alps", call(0) + call(1)), WithinRel(alone_s, kExact));
}

TEST_CASE("replay: a slow GPU computes slowly, and one GPU computes for one job", "[replay]") {
  const test::ScratchFolder scratch;
  const std::string file = (scratch / "t.jsonl").string();
  std::ofstream(file) << R"({"schema":"trace/1","name":"t","ranks":1,"source":"test"})" << '\n'
                      << R"({"rank":0,"kind":"compute","time_s":1})" << '\n';
  ReplayRequest request;
  request.platform = test::catalogue().edited("hgx-h200", {"slow gpu0:4"});
  request.parts = {{file}};
  CHECK_THAT(replay(test::catalogue(), request)["makespan_s"].get<double>(), WithinRel(4, kExact));
  request.parts = {{file}, {file, {0}}};
  CHECK_THROWS_AS(replay(test::catalogue(), request), InputError);
}
