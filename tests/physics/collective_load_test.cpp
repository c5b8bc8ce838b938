// Collectives in the noise of a network and beside other jobs: quiet and loaded times are those of the same query,
// hosts issue each draw, and what cannot be drawn is refused.
#include <string>

#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::collective_load_test {

namespace {

Json query_of(int nodes, const std::string& op, double size_B, const Json& more) {
  Json query{{"platform", "leonardo"}, {"kind", "collective"},  {"op", op}, {"nodes", nodes}, {"gpus_per_node", 2},
             {"size_B", size_B},       {"library", "nccl-2.18"}};
  query.update(more);
  if (!more.contains("launch") && query["library"] == "nccl-2.18") query["launch"] = "graph";
  return query;
}

double number(const Json& json, const char* key) { return json.at(key).get<double>(); }

const Json kSpread{{"allocation", "random"}, {"allocation_seed", 1}};
const Json kIncast = Json::array({{{"op", "incast"}, {"nodes", 8}}});

Json with(Json more, const Json& and_more) {
  more.update(and_more);
  return more;
}

}  // namespace

TEST_CASE("load: quiet, median and slowdown are those of the same query without it", "[physics][load]") {
  for (const auto& [op, library] : {std::pair{"all_reduce", "nccl-2.18"},
                                    {"alltoall", "nccl-2.18"},
                                    {"all_reduce", "mpi-openmpi"},
                                    {"all_gather", "mpi-openmpi"}}) {
    INFO(op << " " << library);
    const Json base = with(kSpread, {{"library", library}});
    const Json quiet = ask(query_of(6, op, 4194304, base));
    const Json noisy = ask(query_of(6, op, 4194304, with(base, {{"noise", 7}, {"samples", 15}})));
    CHECK_THAT(number(noisy, "quiet_s"), WithinRel(number(quiet, "time_s"), kExact));
    CHECK_THAT(noisy["percentiles"]["p50"].get<double>(), WithinRel(number(noisy, "time_s"), kExact));
    CHECK(number(noisy, "min_s") >= number(quiet, "time_s") * (1 - kExact));
    CHECK(number(noisy, "max_s") > number(noisy, "min_s"));
    CHECK(noisy["samples"] == 15);
    const Json beside = ask(query_of(6, op, 4194304, with(base, {{"beside", kIncast}})));
    CHECK_THAT(number(beside, "alone_s"), WithinRel(number(quiet, "time_s"), 1e-6));
    CHECK_THAT(number(beside, "slowdown"), WithinRel(number(beside, "time_s") / number(beside, "alone_s"), kExact));
    CHECK(number(beside, "slowdown") >= 1 - kExact);
    CHECK(beside["beside"][0]["op"] == "incast");
    CHECK(beside["beside"][0]["nodes"] == 8);
    CHECK(number(beside["beside"][0], "sends_of_port") <= 1);
    CHECK_FALSE(quiet.contains("alone_s"));
    CHECK_FALSE(noisy.contains("slowdown"));
  }
}

TEST_CASE("load: a host issues each draw and the quiet call", "[physics][load]") {
  for (const char* op : {"all_reduce", "alltoall"}) {
    const Json noise = with(kSpread, {{"noise", 7}, {"samples", 15}, {"calls", 1}});
    const Json graph = ask(query_of(6, op, 4194304, noise));
    const Json issued = ask(query_of(6, op, 4194304, with(noise, {{"launch", "process"}})));
    // one call: host, devices and wait, one after the other
    const double added = number(issued, "quiet_s") - number(graph, "quiet_s");
    CHECK(added > number(issued, "host_s"));
    INFO(op);
    for (const char* key : {"time_s", "min_s", "max_s", "mean_s"})
      CHECK_THAT(number(issued, key) - number(graph, key), WithinRel(added, 1e-6));
    for (const auto& [name, seconds] : graph["percentiles"].items())
      CHECK_THAT(number(issued["percentiles"], name.c_str()) - seconds.get<double>(), WithinRel(added, 1e-6));
  }
  const Json beside = with(kSpread, {{"beside", kIncast}, {"calls", 1}});
  const Json graph = ask(query_of(6, "all_reduce", 4194304, beside));
  const Json issued = ask(query_of(6, "all_reduce", 4194304, with(beside, {{"launch", "process"}})));
  CHECK_THAT(number(issued, "alone_s") - number(graph, "alone_s"),
             WithinRel(number(issued, "time_s") - number(graph, "time_s"), 1e-6));
  CHECK_THAT(number(issued, "slowdown"), WithinRel(number(issued, "time_s") / number(issued, "alone_s"), kExact));
}

TEST_CASE("load: what stays in a node hears nothing", "[physics][load]") {
  const Json quiet = ask(query_of(1, "all_reduce", 4194304, Json::object()));
  const Json noisy = ask(query_of(1, "all_reduce", 4194304, {{"noise", 7}, {"samples", 9}, {"beside", kIncast}}));
  for (const char* key : {"time_s", "quiet_s", "min_s", "max_s", "mean_s", "alone_s"})
    CHECK_THAT(number(noisy, key), WithinRel(number(quiet, "time_s"), kExact));
  for (const auto& [name, seconds] : noisy["percentiles"].items()) CHECK(seconds == noisy["time_s"]);
  CHECK(noisy["slowdown"] == 1);
  CHECK(noisy["time_low_s"] == quiet["time_low_s"]);
  CHECK(noisy["warnings"].size() == quiet["warnings"].size() + 1);
}

TEST_CASE("load: rounds keep their interval's ratio, and copies through the host their time", "[physics][load]") {
  for (const char* op : {"all_reduce", "alltoall"}) {  // the first through host memory
    const Json base = with(kSpread, {{"library", "mpi-openmpi"}});
    const Json quiet = ask(query_of(6, op, 4194304, base));
    CHECK((number(quiet, "staging_s") > 0) == (std::string(op) == "all_reduce"));
    for (const Json& load : {Json{{"beside", kIncast}}, Json{{"noise", 7}, {"samples", 5}}}) {
      const Json loaded = ask(query_of(6, op, 4194304, with(base, load)));
      INFO(op << load.dump());
      for (const char* end : {"time_low_s", "time_high_s"})
        CHECK_THAT(number(loaded, end) / number(loaded, "time_s"),
                   WithinRel(number(quiet, end) / number(quiet, "time_s"), kExact));
      CHECK(loaded["staging_s"] == quiet["staging_s"]);
      CHECK(number(loaded, "time_s") >= number(quiet, "time_s") * (1 - kExact));
    }
  }
}

TEST_CASE("load: what cannot be drawn or slowed is refused in one line", "[physics][load]") {
  const auto error = [](int nodes, const std::string& op, const Json& more) {
    return query::answer(catalogue(), query_of(nodes, op, 4194304, more)).value("error", "");
  };
  CHECK(
      error(6, "alltoall", {{"beside", kIncast}, {"noise", 7}}).find("beside: with noise it is for rings and trees") !=
      std::string::npos);
  CHECK(error(6, "alltoall", {{"beside", kIncast}, {"engine", "reduced"}})
            .find("engine: reduced takes messages together") != std::string::npos);
  CHECK(error(520, "alltoall", {{"beside", kIncast}})
            .find("jobs beside slow each message by itself, and the direct "
                  "engine takes at most 1024") != std::string::npos);
  CHECK(
      error(4, "all_reduce", {{"beside", kIncast}, {"alternatives", true}}).find("are forecast alone, not in noise") !=
      std::string::npos);
  const Json beside{{{"op", "all_reduce"}, {"gpus", {0, 1}}, {"size_B", 8}}};
  CHECK(error(4, "all_reduce", {{"with", beside}, {"noise", 7}}).find("together with other communicators") !=
        std::string::npos);
}

}  // namespace linkcast::test::collective_load_test
