// GPUs by number, id, UUID and PCI bus id, wherever one is asked for.
#include "sim/machine/gpu_names.hpp"

#include "sim/base/pci_bus_id.hpp"
#include "sim/query/gpu_values.hpp"
#include "sim/query/key.hpp"
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::gpu_names_test {

namespace {

const std::string kUuid = "GPU-8f2a1c00-0000-4000-8000-00000000000", kBus = "0000:1b:00.";

/// The P100 DGX-1 with a driver's names: gpu<k> is ...k in both.
const std::string& named() {
  static const std::string id = [] {
    const Platform& shipped = catalogue().machine("p100-dgx1")->platform();
    Topology topology = shipped.wiring();
    for (std::size_t k = 0; k < topology.gpus().size(); ++k) {
      Device& gpu = topology.devices[static_cast<std::size_t>(topology.gpus()[k])];
      gpu.uuid = kUuid + std::to_string(k);
      gpu.bus_id = kBus + std::to_string(k);
    }
    catalogue().adopt("named-p100", std::move(topology), shipped.calibration());
    return std::string("named-p100");
  }();
  return id;
}

Json asked(Json query, const Json& more) {
  query["platform"] = named();
  query.update(more);
  Json answer = query::answer(catalogue(), query);
  answer.erase("inputs");
  return answer;
}

}  // namespace

TEST_CASE("a query that has the names of devices and bytes is not copied, another is", "[unit][names]") {
  const Topology& topology = catalogue().machine(named())->platform().topology();
  const auto stays = [&](const char* kind, const char* text) {
    const Json query = Json::parse(text);
    query::GivenQuery given(query);
    query::take_numbers(query::query_kinds().get(kind).keys(), topology, "test", "", given);
    CHECK((&given.get() == &query) == (given.get() == query));
    return &given.get() == &query;
  };
  CHECK(stays("p2p", R"({"src": "gpu0", "dst": "gpu7", "size_B": 1024})"));
  CHECK(stays("flows", R"({"flows": [["gpu0", "gpu7", 1024], ["gpu1", "gpu0", 1]]})"));
  CHECK(stays("collective", R"({"gpus": [0, 1, 2], "size_B": 1024})"));
  CHECK_FALSE(stays("p2p", R"({"src": 0, "dst": "gpu7", "size_B": 1024})"));
  CHECK_FALSE(stays("p2p", R"({"src": "gpu00", "dst": "gpu7", "size_B": 1024})"));
  CHECK_FALSE(stays("p2p", R"({"src": "gpu0", "dst": "gpu7", "size_B": "1KiB"})"));
  CHECK_FALSE(stays("flows", R"({"flows": [["gpu0", "gpu7", 1024], ["gpu1", "gpu0", "1KiB"]]})"));
  CHECK_FALSE(stays("flows", R"({"flows": [["gpu0", "gpu7", 1024], ["gpu1", 0, 1]]})"));
  CHECK_FALSE(stays("collective", R"({"gpus": ["gpu0", 1], "size_B": 1024})"));
  CHECK_FALSE(stays("collective", R"({"gpus": [0, 1], "sizes_B": [1, "1KiB"]})"));
}

TEST_CASE("bus ids are one id however they are written", "[unit][gpu_names]") {
  for (const char* text : {"0000:1b:00.0", "00000000:1B:00.0", "1B:00.0", "1b:00.0"})
    CHECK(pci_bus_id(text) == "0000:1b:00.0");
  CHECK(pci_bus_id("0008:01:00.0") == "0008:01:00.0");
  CHECK(pci_bus_id("00010000:01:00.0") == "10000:01:00.0");
  for (const char* text : {"", "1b:00", "1b:0.0", "gpu0", "0.5", "000:1b:00.0", "1b:00.8"})
    CHECK(pci_bus_id(text).empty());
}

TEST_CASE("every name of a GPU asks for the same copy", "[unit][gpu_names]") {
  const Json query{{"kind", "p2p"}, {"size_B", 1 << 20}};
  const Json by_id = asked(query, {{"src", "gpu1"}, {"dst", "gpu5"}});
  REQUIRE(by_id.contains("time_s"));
  for (const Json& src :
       {Json(1), Json("1"), Json("GPU1"), Json(kUuid + "1"), Json("gpu-8F2A1C00-0000-4000-8000-000000000001"),
        Json(kBus + "1"), Json("1B:00.1"), Json("00000000:1b:00.1")})
    CHECK(asked(query, {{"src", src}, {"dst", "gpu5"}}) == by_id);
  CHECK(asked(query, {{"src", "1"}, {"dst", "1b:00.5"}, {"via", kUuid + "4"}}) ==
        asked(query, {{"src", "gpu1"}, {"dst", "gpu5"}, {"via", "gpu4"}}));
}

TEST_CASE("lists of GPUs take ranges, ids and drivers' names", "[unit][gpu_names]") {
  const Json query{{"kind", "collective"}, {"op", "all_reduce"}, {"size_B", 1 << 20}};
  const Json by_number = asked(query, {{"gpus", {0, 1, 2, 3}}});
  REQUIRE(by_number.contains("time_s"));
  for (const Json& gpus :
       {Json("0-3"), Json("gpu0-gpu3"), Json({"0-2", 3}), Json({"0", kUuid + "1", "1b:00.2", "gpu3"})})
    CHECK(asked(query, {{"gpus", gpus}}) == by_number);
  const Json flows{{"kind", "flows"}};
  CHECK(asked(flows, {{"flows", {{0, "1b:00.1", 4096}}}}) == asked(flows, {{"flows", {{"gpu0", "gpu1", 4096}}}}));
  const Json place{{"kind", "place"}, {"job", "all_reduce:1MiB"}, {"ranks", 2}};
  CHECK(asked(place, {{"busy", {"0-3", kUuid + "4"}}}) == asked(place, {{"busy", {0, 1, 2, 3, 4}}}));
  CHECK(asked(place, {{"with", {{{"job", "all_reduce:1MiB"}, {"gpus", {"1b:00.0", "1"}}}}}}) ==
        asked(place, {{"with", {{{"job", "all_reduce:1MiB"}, {"gpus", {0, 1}}}}}}));
  const Json replay{{"kind", "replay"}, {"trace", "data_parallel"}, {"options", {{"ranks", 2}, {"steps", 1}}}};
  CHECK(asked(replay, {{"placement", {"1b:00.3", 2}}}) == asked(replay, {{"placement", {3, 2}}}));
}

TEST_CASE("edits take every name of a GPU", "[unit][gpu_names]") {
  const auto said = [](const std::string& text) {
    return edit_with_gpus(catalogue().machine(named())->platform().wiring(), text);
  };
  for (const std::string& text :
       std::vector<std::string>{"remove 0-4", "remove GPU0-gpu4", "remove " + kUuid + "0-" + kBus + "4"})
    CHECK(said(text) == "remove gpu0-gpu4");
  CHECK(said("--add 0-5:nvlink2:2") == "--add gpu0-gpu5:nvlink2:2");
  CHECK(said("slow 3:1.2") == "slow gpu3:1.2");
  CHECK(said("slow 1b:00.3:1.2") == "slow gpu3:1.2");
  CHECK(said("scale gpu0-plx0:0.5") == "scale gpu0-plx0:0.5");
  for (const char* text : {"scale pcie4:10.5", "scale gpu10-gpu12:10.5", "disable nvlink",
                           "set kind=nvlink2:bandwidth=50GB/s", "fabric dragonfly:nodes=64", "remove gpu0-gpu4:1"})
    CHECK(said(text) == text);
  const Json query{{"kind", "p2p"}, {"src", 0}, {"dst", 4}, {"size_B", 1 << 20}};
  CHECK(asked(query, {{"edits", {"remove 0-1b:00.4"}}}) == asked(query, {{"edits", {"remove gpu0-gpu4"}}}));
}

TEST_CASE("a name that no GPU has is refused with those that there are", "[unit][gpu_names]") {
  const auto error = [](const Json& more, const std::string& platform = named()) {
    Json query{{"kind", "collective"}, {"op", "all_reduce"}, {"size_B", 4096}, {"platform", platform}};
    query.update(more);
    return query::answer(catalogue(), query).value("error", "");
  };
  CHECK(error({{"gpus", {0, 9}}}) == "query:/gpus/1: 9 is no GPU of p100-dgx1: 0 to 7");
  CHECK(error({{"gpus", "0,x"}}) == "query:/gpus: '0,x' " + kGpuForms);
  CHECK(error({{"gpus", {"0000:00:00.0", 1}}})
            .rfind("query:/gpus: 0000:00:00.0 is no GPU of p100-dgx1: 0 to 7; its PCI bus ids are 0000:1b:00.0, ", 0) ==
        0);
  CHECK(error({{"gpus", {kUuid + "9", 1}}}, "p100-dgx1") ==
        "query:/gpus: " + kUuid + "9 is no GPU of p100-dgx1: 0 to 7; its file names no UUIDs");
  CHECK(error({{"gpus", {"GPU-8f2a1c00", 1}}}).find("is no GPU of") != std::string::npos);  // all begin so
}

TEST_CASE("replay takes drivers' names from the command line", "[unit][gpu_names]") {
  const ScratchFolder folder;
  const std::string machine = "'" + (folder / "m.json").string() + "'";
  REQUIRE(run_program("import nccl-xml tests/input/import/nccl-p100-dgx1.xml --machine m --out " + machine).code == 0);
  const std::string replay = "replay data_parallel --option ranks=2 --option steps=1 --json --platform " + machine;
  const auto ranks = [&](const std::string& more) {
    return parse_json(run_program(replay + more).out, "answer")["ranks"];
  };
  const Json by_number = ranks(" --placement 4,1 --also data_parallel:2,3,5,6");
  CHECK(by_number[0]["gpu"] == 4);
  CHECK(ranks(" --placement 0000:81:00.0,GPU1 --also data_parallel:19:00.0,gpu3,5-6") == by_number);
}

TEST_CASE("the command line's lists keep bus ids whole", "[unit][gpu_names]") {
  CHECK(query::gpus_of("0-2,1b:00.3,gpu4", "--gpus") == Json({0, 1, 2, "1b:00.3", 4}));
  CHECK(query::at_colons("0000:1b:00.0:1B:00.1:64MiB") == std::vector<std::string>{"0000:1b:00.0", "1B:00.1", "64MiB"});
  CHECK(query::at_colons("gpu0:gpu1:64MiB") == std::vector<std::string>{"gpu0", "gpu1", "64MiB"});
}

}  // namespace linkcast::test::gpu_names_test
