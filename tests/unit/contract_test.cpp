// Names that scripts rely on: keys of every kind of result, exit codes, tables and JSON.
#include <string>
#include <vector>

#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::contract_test {

namespace {

using Keys = std::vector<std::string>;

Json ask(const std::string& text) { return test::ask(Json::parse(text)); }

void require_keys(const Json& result, const Keys& keys) {
  for (const std::string& key : keys) {
    INFO(key);
    CHECK(result.contains(key));
  }
}

const Keys kTimes = {"time_s", "time_low_s", "time_high_s"};
const Keys kAlways = {"id", "kind", "bottleneck", "warnings", "inputs", "versions"};

}  // namespace

TEST_CASE("keys of a copy's result", "[unit][contract]") {
  const Json result =
      ask(R"({"id": "a", "platform": "p100-dgx1", "kind": "p2p", "src": "gpu0", "dst": "gpu1", "size_B": 1e6})");
  require_keys(result, kAlways);
  require_keys(result, kTimes);
  require_keys(result, {"bandwidth_Bps", "latency_s", "transport", "route"});
  CHECK(result["id"] == "a");
  CHECK(result["route"] == Json({"gpu0->gpu1"}));
  CHECK(result["bottleneck"] == Json({"gpu0->gpu1"}));
  CHECK_THAT(result["bandwidth_Bps"].get<double>(), WithinRel(1e6 / result["time_s"].get<double>(), 1e-12));
  const Json relay = ask(
      R"({"id": 1, "platform": "p100-dgx1", "kind": "p2p", "src": "gpu0", "dst": "gpu5", "size_B": 1e6, "via": "gpu4"})");
  CHECK(relay["transport"] == "relay");
  CHECK(relay["via"] == "gpu4");
  CHECK(relay["route"] == Json({"gpu0->gpu4", "gpu4->gpu5"}));
  const Json both =
      ask(R"({"id": 1, "platform": "p100-dgx1", "kind": "p2p", "src": "gpu0", "dst": "gpu1", "size_B": 1e6,
                            "bidirectional": true})");
  CHECK_THAT(both["bandwidth_Bps"].get<double>(), WithinRel(2e6 / both["time_s"].get<double>(), 1e-12));
}

TEST_CASE("keys of the other kinds", "[unit][contract]") {
  const Json flows = ask(R"({"id": 1, "platform": "p100-dgx1", "kind": "flows", "flows": [["gpu0", "gpu1", 1e6],
                             ["gpu0", "gpu2", 2e6]]})");
  require_keys(flows, kAlways);
  require_keys(flows, kTimes);
  REQUIRE(flows["flow_times_s"].size() == 2);
  CHECK(flows["time_s"] == flows["flow_times_s"][1]);

  const Json collective = ask(
      R"({"id": 1, "platform": "p100-dgx1", "kind": "collective", "op": "all_reduce", "gpus": [0, 1, 2, 3], "size_B": 1e8})");
  require_keys(collective, kAlways);
  require_keys(collective, kTimes);
  require_keys(collective, {"algbw_Bps", "busbw_Bps", "algorithm", "protocol", "channels", "channel_bandwidth_Bps"});
  CHECK_THAT(collective["algbw_Bps"].get<double>(), WithinRel(1e8 / collective["time_s"].get<double>(), 1e-12));
  // source: NVIDIA/nccl-tests doc/PERFORMANCE.md: busbw = algbw x 2 (n-1)/n
  CHECK_THAT(collective["busbw_Bps"].get<double>(), WithinRel(1.5 * collective["algbw_Bps"].get<double>(), 1e-12));
  for (const Json& order : collective["channels"]) CHECK(order.size() == 4);

  const Json rings = ask(R"({"id": 1, "platform": "p100-dgx1", "kind": "rings", "gpus": [0, 1, 2, 3, 4]})");
  require_keys(rings, kAlways);
  require_keys(rings,
               {"channels", "path_class", "library_channel_bandwidth_Bps", "link_equivalents", "fallback", "why"});
  CHECK(rings["fallback"] == true);

  const Json routes = ask(R"({"id": 1, "platform": "p100-dgx1", "kind": "routes", "src": "gpu0", "dst": "gpu5"})");
  require_keys(routes, kAlways);
  REQUIRE(routes["routes"].size() == 3);  // staged, and relays over gpu1 and gpu4
  double before = 0;
  for (const Json& route : routes["routes"]) {
    require_keys(route, kTimes);
    require_keys(route, {"transport", "bandwidth_Bps", "latency_s", "bottleneck", "route"});
    CHECK(route["time_s"].get<double>() >= before);
    before = route["time_s"].get<double>();
  }
}

TEST_CASE("a collective without members is of all GPUs of a node", "[unit][contract]") {
  Json all{{"kind", "collective"}, {"platform", "p100-dgx1"}, {"op", "all_reduce"}, {"size_B", 1e6}};
  for (const char* kind : {"collective", "rings"}) {
    all["kind"] = kind;
    Json named = all;
    named["gpus"] = {0, 1, 2, 3, 4, 5, 6, 7};
    Json plain = test::ask(all), long_one = test::ask(named);
    CHECK(plain.at("ranks") == 8);
    for (Json* one : {&plain, &long_one}) one->erase("inputs");
    CHECK(plain == long_one);
  }
  all["gpus_per_node"] = 4;
  CHECK(query::answer(catalogue(), all)["error"].get<std::string>().ends_with("gpus_per_node: needs nodes"));
  CHECK(run_program("predict collective --platform p100-dgx1 --op all_reduce --size 1MiB").out ==
        run_program("predict collective --platform p100-dgx1 --gpus 0-7 --op all_reduce --size 1MiB").out);
  CHECK(run_program("rings --platform p100-dgx1").out == run_program("rings --platform p100-dgx1 --gpus 0-7").out);
}

TEST_CASE("every result embeds what it was computed from", "[unit][contract]") {
  const std::string query = R"({"id":1,"platform":"dgx2","kind":"p2p","src":"gpu0","dst":"gpu1","size_B":1000})";
  const Json result = ask(query);
  CHECK(result["inputs"]["query"].dump() == query);
  CHECK(result["inputs"]["topology_sha256"] == catalogue().machine("dgx2")->platform().wiring().sha256);
  CHECK(result["inputs"]["calibration_sha256"] == catalogue().machine("dgx2")->platform().calibration().sha256);
  CHECK(result["inputs"]["solver"] == "fluid");
  require_keys(result["versions"], {"linkcast", "git"});
  CHECK(ask(result["inputs"]["query"].dump()).dump() == result.dump());  // it can be run again from itself
}

TEST_CASE("a size beyond what was measured is answered with a warning and a wider interval", "[unit][contract]") {
  const auto of = [](const std::string& size) {
    return ask(R"({"platform": "p100-dgx1", "kind": "p2p", "src": "gpu0", "dst": "gpu1", "size_B": )" + size + "}");
  };
  const Json inside = of("268435456"), beyond = of("4294967296");
  CHECK(inside["warnings"].empty());
  REQUIRE(beyond["warnings"].size() == 1);
  CHECK(beyond["warnings"][0] == "size is above the calibrated range 1 B to 256 MiB: extrapolated");
  const auto width = [](const Json& r) { return r["time_high_s"].get<double>() / r["time_low_s"].get<double>(); };
  CHECK(width(beyond) > width(inside));
}

TEST_CASE("an unanswerable query gives its id and an error", "[unit][contract]") {
  const Json error = query::answer(catalogue(), Json::parse(R"({"id": [1], "kind": "p2p"})"));
  CHECK(error == Json::parse(R"({"id": [1], "error": "query:/platform: missing key"})"));
  CHECK(query::answer(catalogue(), Json("text")) ==
        Json::parse(R"({"error": "query:/: must be an object, not string"})"));
}

TEST_CASE("every command ends with 0 and prints to stdout", "[unit][contract]") {
  const std::string copy = "--platform p100-dgx1 --src gpu0 --dst gpu1 --size 64MiB";
  const Keys commands = {
      "--version",
      "list platforms",
      "list collectives",
      "list libraries",
      "list claims",
      "list platforms --json",
      "show dgx2",
      "show dgx2 --json",
      "show dgx2 --dot",
      "predict p2p " + copy,
      "predict p2p --json " + copy,
      "predict flows --platform v100-dgx1 --flow gpu0:gpu1:64MiB --flow gpu0:gpu2:64MiB --engine sm",
      "predict collective --platform p100-dgx1 --gpus 0-4 --op all_reduce --size 1GiB",
      "routes --platform p100-dgx1 --src gpu0 --dst gpu5 --size 1MiB",
      "rings --platform p100-dgx1 --gpus 0-7",
      "validate --against calibrate/data/p100-dgx1/p2p-matrix.json --median-limit 0.1 --p95-limit 0.2"};
  for (const std::string& command : commands) {
    INFO(command);
    const Run run = run_program(command);
    CHECK(run.code == 0);
    CHECK_FALSE(run.out.empty());
    CHECK(run.err.find("error") == std::string::npos);
    if (command.find("--json") != std::string::npos) CHECK(Json::accept(run.out));
  }
}

TEST_CASE("the help of every command ends with an example", "[unit][contract]") {
  for (const std::string command :
       {"", "list", "show", "predict", "predict p2p", "predict flows", "predict collective", "routes", "rings",
        "calibrate", "calibrate fit", "validate", "check", "whatif", "sweep", "report"}) {
    INFO(command);
    const Run run = run_program(command + " --help");
    CHECK(run.code == 0);
    CHECK(run.err.empty());
    CHECK(run.out.find("Example:\n  linkcast " + command) != std::string::npos);
  }
}

TEST_CASE("a comparison that misses its limit ends with 4", "[unit][contract]") {
  const Run run = run_program("validate --against calibrate/data/p100-dgx1/p2p-matrix.json --median-limit 0.0001");
  CHECK(run.code == 4);
  CHECK(run.out.find("over the limit") != std::string::npos);
}

}  // namespace linkcast::test::contract_test
