// Times under what-if edits in closed form: what an edit says of rates is what the forecast shows.
#include <numeric>

#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/unlearned.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::whatif_test {

namespace {

Json whatif(Json query, const std::vector<std::string>& edits) {
  query["edits"] = edits;
  return query::whatif_answer(catalogue(), query, "test");
}

double seconds(const Json& result) { return result["time_s"].get<double>(); }
double ratio(const Json& both) { return seconds(both["after"]) / seconds(both["before"]); }

Json copy_of(const std::string& platform, const std::string& from, const std::string& to, double size = 67108864) {
  return {{"kind", "p2p"}, {"platform", platform}, {"src", from}, {"dst", to}, {"size_B", size}};
}

Json all_reduce(const std::string& platform, int gpus, double size) {
  std::vector<int> members(static_cast<std::size_t>(gpus));
  std::iota(members.begin(), members.end(), 0);
  return {{"kind", "collective"}, {"launch", "graph"}, {"platform", platform},
          {"op", "all_reduce"},   {"gpus", members},   {"size_B", size}};
}

/// Time less start-up: bytes at the rate of the links.
double moving(const Json& result) { return seconds(result) - result["latency_s"].get<double>(); }

}  // namespace

TEST_CASE("a copy with a slow end takes exactly as many times as long", "[physics][whatif]") {
  for (const std::string platform : {"p100-dgx1", "v100-dgx1", "dgx2", "hgx-h200", "gx8"})
    for (const std::string engine : {"copy_engine", "sm"})
      for (const double size : {1024.0, 67108864.0})
        for (const std::string slow : {"gpu0", "gpu1"}) {
          Json query = copy_of(platform, "gpu0", "gpu1", size);
          query["engine"] = engine;
          INFO(query << slow);
          CHECK_THAT(ratio(whatif(query, {"slow " + slow + ":2"})), WithinRel(2, 1e-9));
          CHECK_THAT(ratio(whatif(query, {"slow gpu2:2"})), WithinRel(1, 1e-12));
        }
  CHECK_THAT(ratio(whatif(copy_of("hgx-h200", "gpu0", "gpu0"), {"slow gpu0:3"})), WithinRel(3, 1e-9));
  // host copies of hgx-h200 are limited by the GPU's own cable
  CHECK_THAT(ratio(whatif(copy_of("hgx-h200", "gpu0", "cpu0"), {"slow gpu0:1.5"})), WithinRel(1.5, 1e-9));
  CHECK_THAT(ratio(whatif(copy_of("p100-dgx1", "gpu0", "gpu1"), {"slow gpu0:2", "slow gpu1:5"})), WithinRel(5, 1e-9));
}

TEST_CASE("settings of `after` are of the second answer alone", "[physics][whatif][settings]") {
  Json query{{"kind", "collective"}, {"platform", "alps"}, {"op", "all_reduce"},
             {"size_B", 524288},     {"nodes", 2},         {"gpus_per_node", 4}};
  const auto both = [&](const Json& after, const Json& edits = Json::array()) {
    Json one = query;
    if (!after.is_null()) one["after"] = after;
    if (!edits.empty()) one["edits"] = edits;
    return query::whatif_answer(catalogue(), one, "test");
  };
  const auto alone = [&](const Json& more) {
    Json one = query;
    one.update(more);
    return query::answer_or_throw(catalogue(), one, "test");
  };
  const Json settings = {{"nccl_env", {{"NCCL_PROTO", "^LL"}}}};
  CHECK(both(settings)["before"] == alone(Json::object()));
  CHECK(both(settings)["after"] == alone(settings));
  CHECK(both(settings)["change"]["protocol"]["before"] == "LL");
  CHECK(both({{"nodes", 4}})["after"] == alone({{"nodes", 4}}));
  const Json edits = {"slow gpu0:2"};
  const Json edited = both(settings, edits);
  Json with_edits{{"edits", edits}};
  with_edits.update(settings);
  CHECK(edited["before"] == alone(Json::object()));
  CHECK(edited["after"] == alone(with_edits));
  // Variables of both answers stay.
  query["nccl_env"] = {{"NCCL_MAX_NCHANNELS", "2"}};
  CHECK(both(settings)["after"] == alone({{"nccl_env", {{"NCCL_MAX_NCHANNELS", "2"}, {"NCCL_PROTO", "^LL"}}}}));
  for (const Json& wrong : {Json(nullptr), Json::object(), Json("protocol=LL"), Json{{"edits", {"slow gpu0:2"}}},
                            Json{{"kind", "p2p"}}, Json{{"no_key", 1}}})
    CHECK_THROWS_AS(both(wrong), InputError);
}

TEST_CASE("settings on the command line of whatif", "[physics][whatif][settings]") {
  const std::string command =
      "predict collective --platform alps --nodes 2 --gpus-per-node 4 --op all_reduce --size 512KiB --json";
  const auto json = [](const std::string& line) { return Json::parse(run_program(line).out); };
  for (const char* setting : {"NCCL_PROTO=^LL", "nccl_env=NCCL_PROTO=^LL", "nccl-env=NCCL_PROTO=^LL", "without=LL"}) {
    const Json both = json("whatif " + command + " --after " + setting);
    INFO(setting);
    CHECK(both["before"]["time_s"] == json(command)["time_s"]);
    CHECK(both["after"]["time_s"] == json(command + " --without LL")["time_s"]);
  }
  const Json two = json("whatif " + command + " --after NCCL_PROTO=^LL --after NCCL_MAX_NCHANNELS=2 --after calls=1");
  CHECK(two["after"]["time_s"] ==
        json(command + " --nccl-env NCCL_PROTO=^LL,NCCL_MAX_NCHANNELS=2 --calls 1")["time_s"]);
  const auto error = [&](const std::string& more) { return run_program("whatif " + command + more).err; };
  CHECK(error(" --after protocl=LL").find("'protocl' is no key of this command") != std::string::npos);
  CHECK(error(" --after LL").find("is not KEY=VALUE") != std::string::npos);
  CHECK(error(" --after calls=many").find("'many' is no number") != std::string::npos);
  CHECK(error(" --after calls=1 --after calls=2").find("is given twice") != std::string::npos);
  CHECK(error("").find("whatif needs at least one edit") != std::string::npos);
  CHECK(run_program(command + " --after calls=1").err.find("unknown option --after") != std::string::npos);
}

TEST_CASE("scaling a cable scales the time of its bytes, and no other copy", "[physics][whatif]") {
  for (const double factor : {0.25, 2.0}) {
    const std::string edit = "scale gpu1-gpu0:" + std::to_string(factor);
    const Json on = whatif(copy_of("p100-dgx1", "gpu0", "gpu1"), {edit});
    CHECK_THAT(moving(on["after"]) / moving(on["before"]), WithinRel(1 / factor, 1e-9));
    CHECK(on["after"]["latency_s"] == on["before"]["latency_s"]);
    CHECK(ratio(whatif(copy_of("p100-dgx1", "gpu0", "gpu2"), {edit})) == 1);
  }
}

TEST_CASE("setting the nominal rate of a kind moves its bytes in proportion", "[physics][whatif]") {
  // v100-dgx1: 25 GB/s a link, two on gpu0-gpu3. source: topologies/v100-dgx1.json
  for (const std::string to : {"gpu1", "gpu3"}) {
    const Json both = whatif(copy_of("v100-dgx1", "gpu0", to), {"set kind=nvlink2:bandwidth=50GB/s"});
    CHECK_THAT(moving(both["before"]) / moving(both["after"]), WithinRel(2, 1e-9));
  }
  const Json same = whatif(copy_of("v100-dgx1", "gpu0", "gpu1"), {"set kind=nvlink2:bandwidth=25GB/s"});
  CHECK(seconds(same["after"]) == seconds(same["before"]));
  CHECK(same["change"].empty());
}

TEST_CASE("a second link halves the time of the bytes, one link out of two doubles it", "[physics][whatif]") {
  const Json more = whatif(copy_of("p100-dgx1", "gpu0", "gpu1"), {"add gpu0-gpu1:nvlink1"});
  CHECK_THAT(moving(more["before"]) / moving(more["after"]), WithinRel(2, 1e-9));
  const Json less = whatif(copy_of("v100-dgx1", "gpu0", "gpu3"), {"remove gpu0-gpu3:1"});
  CHECK_THAT(moving(less["after"]) / moving(less["before"]), WithinRel(2, 1e-9));
}

TEST_CASE("a cable between two GPUs below NVSwitches carries data only if it is wider", "[physics][whatif]") {
  // 18 links of 25 GB/s to the switches. source: topologies/hgx-h100.json
  const Json copy = copy_of("hgx-h100", "gpu0", "gpu2");
  const Json narrow = whatif(copy, {"add gpu0-gpu2:nvlink4:17"}), wide = whatif(copy, {"add gpu0-gpu2:nvlink4:36"});
  CHECK(seconds(narrow["after"]) == seconds(narrow["before"]));
  CHECK_THAT(moving(wide["before"]) / moving(wide["after"]), WithinRel(2, 0.01));  // ports differ by 0.6 %
  for (const std::string platform : {"hgx-h100", "dgx-a100"})
    for (const std::string cable : {"gpu0-gpu1", "gpu0-gpu2"})
      for (const int gpus : {2, 8})
        for (const std::string op : {"all_reduce", "all_gather", "alltoall"}) {
          Json query = all_reduce(platform, gpus, 1073741824);
          query["op"] = op;
          INFO(query << cable);
          CHECK_THAT(ratio(whatif(query, {"add " + cable + (platform == "hgx-h100" ? ":nvlink4" : ":nvlink3")})),
                     WithinRel(1, 1e-9));
        }
}

TEST_CASE("a new cable carries what a cable of its kind carries elsewhere on the machine", "[physics][whatif]") {
  const Json added = whatif(copy_of("p100-dgx1", "gpu0", "gpu5"), {"add gpu0-gpu5:nvlink1"});
  CHECK(added["before"]["transport"] == "staged");
  CHECK(added["after"]["transport"] == "peer");
  CHECK(seconds(added["after"]) ==
        seconds(query::answer_or_throw(catalogue(), copy_of("p100-dgx1", "gpu0", "gpu1"), "test")));
}

TEST_CASE("without its cable a copy takes the way that was there before", "[physics][whatif]") {
  Json staged = copy_of("v100-dgx1", "gpu0", "gpu4");
  const Json without = whatif(staged, {"remove gpu0-gpu4"});
  CHECK(without["after"]["transport"] == "staged");
  staged["transport"] = "staged";
  CHECK(seconds(without["after"]) == seconds(query::answer_or_throw(catalogue(), staged, "test")));
}

TEST_CASE("one NVSwitch plane less, one plane slow", "[physics][whatif]") {
  // dgx2: six planes with one link each to every GPU of the board. source: topologies/dgx2.json
  const Json less = whatif(copy_of("dgx2", "gpu0", "gpu1"), {"remove gpu0-nvs0"});
  CHECK_THAT(moving(less["after"]) / moving(less["before"]), WithinRel(6.0 / 5, 1e-9));
  // a transfer is striped evenly: the slow plane holds up the rest
  const Json slow = whatif(copy_of("dgx2", "gpu0", "gpu1"), {"slow nvs0:2"});
  CHECK_THAT(moving(slow["after"]) / moving(slow["before"]), WithinRel(2, 1e-9));
}

TEST_CASE("rings lost are bandwidth lost: all_reduce over a P100 DGX-1 with a broken cable", "[physics][whatif]") {
  const Json both = whatif(all_reduce(unlearned("p100-dgx1"), 8, 1 << 30), {"remove gpu2-gpu6"});
  CHECK(both["before"]["channels"].size() == 4);
  CHECK(both["after"]["channels"].size() == 3);
  CHECK_THAT(moving(both["after"]) / moving(both["before"]), WithinRel(4.0 / 3, 1e-9));
  CHECK(ratio(whatif(all_reduce(unlearned("p100-dgx1"), 4, 1 << 30), {"remove gpu0-gpu4"})) == 1);
}

TEST_CASE("a ring is as slow as its slowest member", "[physics][whatif]") {
  for (const std::string platform : {"p100-dgx1", "hgx-h200"})
    for (const double size : {1024.0, 1073741824.0}) {
      Json query = all_reduce(platform, 4, size);
      query["algorithm"] = "ring";
      query["protocol"] = "Simple";
      query["launch"] = "queue";  // in a CUDA graph a call saves the same time, whatever the GPU
      INFO(query);
      CHECK_THAT(ratio(whatif(query, {"slow gpu3:2"})), WithinRel(2, 1e-9));
      CHECK_THAT(ratio(whatif(query, {"slow gpu3:2", "slow gpu1:2"})), WithinRel(2, 1e-9));
      CHECK(ratio(whatif(query, {"slow gpu7:2"})) == 1);
    }
}

TEST_CASE("a library cannot see that a GPU or a cable is slow", "[physics][whatif]") {
  for (const auto& [platform, gpus, library] : {std::tuple{"gx8", std::vector{1, 3, 2, 5}, "nccl-2.12"},
                                                {"gx8", std::vector{0, 1, 4}, "nccl-2.18"},
                                                {"alps", std::vector{0, 1, 2}, "nccl-2.18"},
                                                {"v100-dgx1", std::vector{0, 1, 2, 3, 4}, "nccl-2.27"}})
    for (const std::string edit : {"slow gpu1:1.5", "slow gpu1:40", "slow cpu0:300", "scale pcie:0.02"}) {
      Json query{{"kind", "collective"}, {"platform", platform}, {"op", "reduce"}, {"gpus", gpus}};
      query["size_B"] = 16777216;
      query["library"] = library;
      query["alternatives"] = true;                                                  // and the tuner estimate
      if (edit.rfind("scale", 0) == 0 && std::string(platform) == "alps") continue;  // no GPU of it has PCIe
      INFO(query << edit);
      const Json both = whatif(query, {edit});
      CHECK(both["after"]["channels"] == both["before"]["channels"]);
      CHECK(both["after"].at("library_believes") == both["before"].at("library_believes"));
      CHECK(ratio(both) >= 1 - 1e-9);
    }
}

TEST_CASE("a cable that is another one is seen, and one of less than a lane is one lane", "[physics][whatif]") {
  Json query{{"kind", "rings"}, {"platform", "gx8"}, {"gpus", {0, 1, 2, 3, 4}}, {"library", "nccl-2.18"}};
  const Json lane = whatif(query, {"set kind=pcie3:bandwidth=985MB/s"})["after"];
  CHECK(lane["channels"].size() >= 1);
  for (const std::string rate : {"100MB/s", "1kB/s"})  // the search ended only where each link has a width
    CHECK(whatif(query, {"set kind=pcie3:bandwidth=" + rate})["after"]["channels"] == lane["channels"]);
}

TEST_CASE("whatif on the command line: before, after, change", "[physics][whatif]") {
  const std::string command = "predict collective --platform p100-dgx1 --gpus 0-7 --op all_reduce --size 64MiB";
  const auto text = test::run_program("whatif " + command + " --remove gpu0-gpu4");
  CHECK(text.code == 0);
  CHECK(text.out.find("before") != std::string::npos);
  const auto json = test::run_program("whatif " + command + " --remove gpu0-gpu4 --json");
  REQUIRE(json.code == 0);
  const Json both = Json::parse(json.out);
  CHECK(both["before"]["time_s"] == Json::parse(test::run_program(command + " --json").out)["time_s"]);
  CHECK(both["after"]["time_s"] ==
        Json::parse(test::run_program(command + " --remove gpu0-gpu4 --json").out)["time_s"]);
  CHECK_THAT(both["change"]["time_s"]["ratio"].get<double>(), WithinRel(ratio(both), 1e-12));
  const std::string pair = " --platform v100-dgx1 --src gpu0 --dst gpu3";
  for (const std::string other :
       {"rings --platform v100-dgx1 --gpus 0-7", "show v100-dgx1", "predict p2p --size 1MiB", "routes",
        "predict flows --platform v100-dgx1 --flow gpu0:gpu3:1MiB --flow gpu0:gpu1:1MiB"}) {
    const std::string full = other + (other.find("v100") == std::string::npos ? pair : "") + " --remove gpu0-gpu3:1";
    INFO(full);
    const auto run = test::run_program("whatif " + full);
    CHECK(run.code == 0);
    CHECK(run.out.find("changed") + run.out.find("%") != 2 * std::string::npos);
    CHECK(Json::parse(test::run_program("whatif " + full + " --json").out).contains("change"));
    CHECK(test::run_program(full).code == 0);
  }
}

TEST_CASE("a batch with edits: those of the line and those of the command line", "[physics][whatif]") {
  const test::ScratchFolder scratch;
  const std::string file = (scratch / "q.jsonl").string();
  std::ofstream(file)
      << R"({"id": 1, "kind": "p2p", "platform": "p100-dgx1", "src": "gpu0", "dst": "gpu1", "size_B": 67108864})"
      << "\n"
      << R"({"id": 2, "kind": "p2p", "platform": "p100-dgx1", "src": "gpu0", "dst": "gpu1", "size_B": 67108864, "edits": ["slow gpu1:2"]})"
      << "\n"
      << R"({"id": 3, "kind": "rings", "platform": "p100-dgx1", "gpus": [0, 1], "edits": ["bend gpu1"]})"
      << "\n";
  const auto lines = [](const std::string& text) {
    std::vector<Json> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) all.push_back(Json::parse(line));
    return all;
  };
  const auto plain = lines(test::run_program("predict --batch '" + file + "'").out);
  const auto slower = lines(test::run_program("predict --slow gpu0:3 --batch '" + file + "'").out);
  const auto both = lines(test::run_program("whatif predict --slow gpu0:3 --batch '" + file + "'").out);
  REQUIRE(plain.size() == 3);
  REQUIRE(slower.size() == 3);
  REQUIRE(both.size() == 3);
  CHECK_THAT(seconds(plain[1]), WithinRel(2 * seconds(plain[0]), 1e-9));
  CHECK_THAT(seconds(slower[0]), WithinRel(3 * seconds(plain[0]), 1e-9));
  CHECK(plain[2]["error"].get<std::string>().find("line 3: edit 'bend gpu1': unknown edit") != std::string::npos);
  CHECK(both[0]["id"] == 1);
  CHECK_THAT(ratio(both[0]), WithinRel(3, 1e-9));
  CHECK(both[2].contains("error"));
}

}  // namespace linkcast::test::whatif_test
