// What-if edits: their grammar, what they do to wiring and parameters, what is refused, and that nothing else changes.
#include "sim/machine/edit.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::edit_test {

namespace {

using Texts = std::vector<std::string>;

Platform edited(const std::string& id, const Texts& edits) {
  return catalogue().edited(catalogue().machine(id), edits)->platform();
}

/// "gpu0-gpu1" to "2 x nvlink1", smaller device id first.
std::map<std::string, std::string> wiring(const Platform& platform) {
  std::map<std::string, std::string> cables;
  const auto& devices = platform.wiring().devices;
  for (const Cable& cable : platform.wiring().cables) {
    const auto ends =
        std::minmax(devices[static_cast<std::size_t>(cable.a)].id, devices[static_cast<std::size_t>(cable.b)].id);
    cables[ends.first + "-" + ends.second] =
        std::to_string(cable.count) + " x " + cable.kind + " of " + to_text(cable.bandwidth);
  }
  return cables;
}

double parameter(const Platform& platform, const std::string& name) { return test::parameter(platform, name); }

std::string error_of(const std::string& id, const Texts& edits) {
  return test::error_of([&] { edited(id, edits); });
}

Json ask(Json query, const Texts& edits = {}) {
  if (!edits.empty()) query["edits"] = edits;
  return query::answer_or_throw(catalogue(), query, "test");
}

Json rings(const std::string& platform, const std::vector<int>& gpus, const Texts& edits = {}) {
  return ask({{"kind", "rings"}, {"platform", platform}, {"gpus", gpus}, {"library", "nccl-2.3"}}, edits);
}

}  // namespace

TEST_CASE("one grammar: as an option, with = and with spaces", "[unit][edit]") {
  for (const std::string text : {"remove gpu0-gpu4:1", "--remove gpu0-gpu4:1", "remove=gpu0-gpu4:1",
                                 "--remove=gpu0-gpu4:1", "  remove   gpu0-gpu4:1 "}) {
    INFO(text);
    const Edit edit = parse_edit(text);
    CHECK(edit.verb == EditVerb::kRemove);
    CHECK(edit.text == "remove gpu0-gpu4:1");
    CHECK(edit.subject == "gpu0-gpu4");
    CHECK(edit.count == 1);
  }
  CHECK(parse_edit("add gpu0-gpu5:nvlink2").count == 1);
  CHECK(parse_edit("add gpu0-gpu5:nvlink2:3").count == 3);
  CHECK(parse_edit("remove a-b:pcie3").kind == "pcie3");
  CHECK(parse_edit("set kind=nvlink2:bandwidth=50GB/s").bandwidth.si == 50e9);
  CHECK(parse_edit("slow gpu3:1.2").factor == 1.2);
}

TEST_CASE("the order of edits does not matter", "[unit][edit]") {
  Texts edits = {"add gpu0-gpu1:nvlink1", "disable nvlink", "slow gpu0:2", "scale pcie:0.5",
                 "set kind=nvlink1:bandwidth=30GB/s"};
  const catalogue::MachinePtr first = catalogue().edited(catalogue().machine("p100-dgx1"), edits);
  std::sort(edits.begin(), edits.end());
  do CHECK(catalogue().edited(catalogue().machine("p100-dgx1"), edits) == first);
  while (std::next_permutation(edits.begin(), edits.end()));
  const auto cables = wiring(first->platform());
  CHECK(cables.at("gpu0-gpu1") == "1 x nvlink1 of 15 GB/s");  // disabled, wired anew, set, slowed
  CHECK(cables.count("gpu0-gpu2") == 0);
}

TEST_CASE("two slow downs in either order: the same platform", "[unit][edit]") {
  const Platform& a = edited("v100-dgx1", {"slow gpu0:2", "slow gpu1:4"});
  const Platform& b = edited("v100-dgx1", {"slow gpu1:4", "slow gpu0:2"});
  REQUIRE(a.constraints().size() == b.constraints().size());
  for (std::size_t i = 0; i < a.constraints().size(); ++i)
    CHECK_THAT(a.constraints()[i].capacity.value, WithinRel(b.constraints()[i].capacity.value, 1e-15));
}

// The V100 DGX-1 is the P100 DGX-1 with NVLink 2 and eight of the sixteen cables doubled: both topology files say so.
TEST_CASE("a P100 DGX-1 edited to the wiring of a V100 DGX-1 is wired as its file says", "[unit][edit]") {
  Texts edits = {"swap nvlink1:nvlink2"};
  for (const std::string pair :
       {"gpu0-gpu3", "gpu3-gpu2", "gpu2-gpu1", "gpu1-gpu5", "gpu5-gpu6", "gpu6-gpu7", "gpu7-gpu4", "gpu4-gpu0"})
    edits.push_back("add " + pair + ":nvlink2");
  const Platform& built = edited("p100-dgx1", edits);
  CHECK(wiring(built) == wiring(catalogue().machine("v100-dgx1")->platform()));
  for (int gpus = 2; gpus <= 8; ++gpus) {
    std::vector<int> members;
    for (int gpu = 0; gpu < gpus; ++gpu) members.push_back(gpu);
    const Json here = rings("p100-dgx1", members, edits), there = rings("v100-dgx1", members);
    CHECK(here["channels"] == there["channels"]);
    CHECK(here["fallback"] == there["fallback"]);
  }
  // the reverse: half of each doubled cable out
  Texts back = {"swap nvlink2:nvlink1"};
  for (std::size_t i = 1; i < edits.size(); ++i) back.push_back("remove " + edits[i].substr(4, 9) + ":1");
  CHECK(wiring(edited("v100-dgx1", back)) == wiring(catalogue().machine("p100-dgx1")->platform()));
}

TEST_CASE("adding what was removed gives the machine back", "[unit][edit]") {
  const Texts edits = {"remove gpu0-gpu4", "add gpu4-gpu0:nvlink1"};
  CHECK(wiring(edited("p100-dgx1", edits)) == wiring(catalogue().machine("p100-dgx1")->platform()));
  const Json query{{"kind", "p2p"}, {"platform", "p100-dgx1"}, {"src", "gpu0"}, {"dst", "gpu4"}, {"size_B", 1 << 26}};
  CHECK(ask(query, edits)["time_s"] == ask(query)["time_s"]);
}

// source: nccl-2.3 packs closed rings, one link a hop: no more than the GPU with the fewest links has; without a ring
// all go through host memory (docs/communicators.md)
TEST_CASE("a broken cable takes one ring of the four of a P100 DGX-1", "[unit][edit]") {
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(rings("p100-dgx1", all)["channels"].size() == 4);
  for (const std::string cable : {"gpu0-gpu4", "gpu1-gpu2", "gpu6-gpu7"}) {
    const Json broken = rings("p100-dgx1", all, {"remove " + cable});
    CHECK(broken["channels"].size() == 3);
    CHECK(broken["fallback"] == false);
  }
  const Json none = rings("p100-dgx1", all, {"disable nvlink"});
  CHECK(none["link_equivalents"] == 0);
  const Json alone = rings("p100-dgx1", {0, 1}, {"remove gpu0-gpu1"});
  CHECK(rings("p100-dgx1", {0, 1})["path_class"] == "NVL");
  CHECK(alone["path_class"] != "NVL");
}

TEST_CASE("disable p2p: no GPU reaches another, the host stays", "[unit][edit]") {
  for (const std::string id : {"p100-dgx1", "gx8", "dgx2", "summit", "lumi"}) {
    INFO(id);
    const Platform& platform = edited(id, {"disable p2p"});
    for (int a = 0; a < platform.gpu_count(); ++a) {
      CHECK(platform.socket_of(platform.gpu(a)) >= 0);
      for (int b = 0; b < platform.gpu_count(); ++b)
        CHECK(platform.peer_route(platform.gpu(a), platform.gpu(b)).has_value() == (a == b));
    }
  }
}

TEST_CASE("parameters of cables that are gone go, of those that stay stay", "[unit][edit]") {
  const Platform& plain = catalogue().machine("p100-dgx1")->platform();
  REQUIRE(plain.calibration().find("cable.pcie3@plx0-cpu0.duplex_Bps") != nullptr);
  const Platform& less = edited("p100-dgx1", {"disable nvlink", "remove nic0-plx0"});
  CHECK(less.calibration().find("cable.nvlink1.bandwidth_Bps") == nullptr);
  CHECK(parameter(less, "cable.pcie3@plx0-cpu0.duplex_Bps") == parameter(plain, "cable.pcie3@plx0-cpu0.duplex_Bps"));
  const Platform& half = edited("p100-dgx1", {"scale plx0-cpu0:0.5"});
  CHECK(parameter(half, "cable.pcie3@plx0-cpu0.duplex_Bps") ==
        0.5 * parameter(plain, "cable.pcie3@plx0-cpu0.duplex_Bps"));
  CHECK(parameter(half, "cable.pcie3.duplex_Bps") == parameter(plain, "cable.pcie3.duplex_Bps"));
}

TEST_CASE("what nobody measured is said and less sure", "[unit][edit]") {
  const Json query{{"kind", "p2p"}, {"platform", "v100-dgx1"}, {"src", "gpu0"}, {"dst", "gpu1"}, {"size_B", 40000000}};
  const auto width = [](const Json& r) { return r["time_high_s"].get<double>() / r["time_low_s"].get<double>(); };
  const Json plain = ask(query), set = ask(query, {"set kind=nvlink2:bandwidth=50GB/s"});
  const Json fresh = ask(query, {"swap nvlink2:nvlink4"}), removed = ask(query, {"remove gpu0-gpu4"});
  const Json unknown = ask(query, {"swap nvlink2:nvlink9", "set kind=nvlink9:bandwidth=100GB/s"});
  CHECK(plain["warnings"].empty());
  CHECK(removed["warnings"].empty());
  CHECK(set["warnings"].size() == 1);
  CHECK(fresh["warnings"].dump().find("rates of nvlink4 are taken from") != std::string::npos);
  CHECK(unknown["warnings"].dump().find("nominal") != std::string::npos);
  CHECK(width(removed) == width(plain));
  CHECK(width(set) > 1.1 * width(plain));
  CHECK(width(unknown) > width(fresh));
  const Json reduce{{"kind", "collective"},
                    {"platform", "hgx-h200"},
                    {"gpus", {0, 1, 2, 3}},
                    {"op", "all_reduce"},
                    {"size_B", 1 << 30}};
  CHECK(width(ask(reduce, {"set kind=nvlink4:bandwidth=5GB/s"})) > width(ask(reduce)));
}

TEST_CASE("the original stays as it is", "[unit][edit]") {
  catalogue::Catalogue fresh(test::data_dir()), used(test::data_dir());
  const std::vector<Json> queries = {{{"kind", "show"}, {"platform", "p100-dgx1"}},
                                     {{"kind", "rings"}, {"platform", "p100-dgx1"}, {"gpus", {0, 1, 2, 3, 4}}},
                                     {{"kind", "routes"}, {"platform", "p100-dgx1"}, {"src", "gpu0"}, {"dst", "gpu5"}}};
  for (const Json& query : queries) {
    Json with = query;
    with["edits"] = {"remove gpu0-gpu1", "slow gpu2:2", "scale pcie:0.5", "add gpu0-gpu5:nvlink2"};
    CHECK(query::answer_or_throw(used, with, "q").dump() != query::answer_or_throw(used, query, "q").dump());
    CHECK(query::answer_or_throw(used, query, "q").dump() == query::answer_or_throw(fresh, query, "q").dump());
  }
}

TEST_CASE("a result embeds its edits and its platform's name says them", "[unit][edit]") {
  const Json result = ask({{"kind", "show"}, {"platform", "p100-dgx1"}}, {"--slow=gpu1:2", "remove gpu0-gpu4"});
  CHECK(result["inputs"]["edits"] == Json({"remove gpu0-gpu4", "slow gpu1:2"}));
  CHECK(result["inputs"]["query"]["edits"] == Json({"--slow=gpu1:2", "remove gpu0-gpu4"}));
  CHECK(result["name"] == "p100-dgx1 (edited: remove gpu0-gpu4, slow gpu1:2)");
  CHECK_FALSE(ask({{"kind", "show"}, {"platform", "p100-dgx1"}})["inputs"].contains("edits"));
}

TEST_CASE("more edited platforms than are kept: each answer is that of its own edits", "[unit][edit]") {
  const Json query{{"kind", "p2p"}, {"platform", "rtx2080-sli"}, {"src", "gpu0"}, {"dst", "gpu1"}, {"size_B", 1 << 26}};
  catalogue::Catalogue many(test::data_dir());
  const auto time = [&](int percent) {
    Json with = query;
    with["edits"] = {"slow gpu0:" + std::to_string(percent / 100) + "." +
                     std::to_string(100 + percent % 100).substr(1)};
    return query::answer_or_throw(many, with, "q")["time_s"].get<double>();
  };
  const double before = time(200);
  for (int percent = 201; percent < 900; ++percent) static_cast<void>(time(percent));
  CHECK(time(200) == before);
  CHECK_THAT(time(800), WithinRel(4 * before, 1e-9));
}

TEST_CASE("a fabric edit replaces what it names and keeps the rest", "[unit][edit]") {
  const Json before = catalogue().machine("alps")->platform().wiring().fabric;
  const Json after = edited("alps", {"fabric dragonfly:nodes=64,links.global.bandwidth=50GB/s"}).wiring().fabric;
  CHECK(after["nodes"] == 64);
  CHECK(after["links"]["global"]["bandwidth"] == "50GB/s");
  CHECK(after["links"]["local"] == before["links"]["local"]);
  CHECK(after["radix"] == before["radix"]);
  const Json other = edited("alps", {"fabric single_switch:nodes=16,radix=64"}).wiring().fabric;
  CHECK(other["generator"] == "single_switch");
  CHECK(other["links"]["host"] == before["links"]["host"]);
  CHECK(edited("apenet-plus", {"fabric torus:dimensions=8x2"}).wiring().fabric["dimensions"] == Json({8, 2}));
}

TEST_CASE("edits that cannot be are refused in one line", "[unit][edit]") {
  std::string endless = "1";  // its list has to be refused, whatever reads it must not recurse
  for (int i = 0; i < 100000; ++i) endless += "x1";
  const std::string p = "p100-dgx1";
  const std::vector<std::tuple<std::string, Texts, std::string>> rows = {
      {p, {"explode gpu0"}, "edit 'explode gpu0': unknown edit: one of fabric"},
      {p, {"remove"}, "edit 'remove ': write remove CABLE or CABLE:LINKS (e.g. remove gpu0-gpu4:1)"},
      {p, {"remove gpu0-gpu9"}, "edit 'remove gpu0-gpu9': 'gpu9' is no device of p100-dgx1: one of gpu0, "},
      {p,
       {"remove gpu0-gpu5"},
       "edit 'remove gpu0-gpu5': no such cable; at gpu0 and gpu5 are gpu0-gpu1 (1 x nvlink1), "},
      {p, {"remove gpu0-gpu4:2"}, "edit 'remove gpu0-gpu4:2': gpu0-gpu4 has 1 x nvlink1 only"},
      {p, {"remove gpu0-gpu4:0"}, "edit 'remove gpu0-gpu4:0': '0' is not a number of links from 1 to 1000"},
      {p, {"remove gpu0-gpu4", "remove gpu0-gpu4"}, "edit 'remove gpu0-gpu4': no such cable"},
      {p,
       {"disable nvlink7"},
       "edit 'disable nvlink7': no cable of p100-dgx1 is of such a kind: one of p2p, gpudirect, nvlink1, pcie3, qpi"},
      {p, {"add gpu0-gpu5"}, "edit 'add gpu0-gpu5': write add A-B:KIND"},
      {p,
       {"add gpu0-gpu5:warp9"},
       "edit 'add gpu0-gpu5:warp9': unknown cable kind 'warp9'; here are nvlink1, pcie3, qpi"},
      {p,
       {"add gpu0-gpu5:nvlink9"},
       "edit 'add gpu0-gpu5:nvlink9': no platform here has cables of the kind nvlink9: say its rate"},
      {p, {"add gpu0-gpu1:nvlink2"}, "edit 'add gpu0-gpu1:nvlink2': gpu0-gpu1 has 1 x nvlink1: remove or swap it"},
      {p, {"add gpu0-gpu5:qpi"}, "edit 'add gpu0-gpu5:qpi': qpi joins two CPUs"},
      {p, {"add cpu0-plx0:nvlink1"}, "edit 'add cpu0-plx0:nvlink1': nvlink1 has a GPU at one end"},
      {p, {"add gpu0-gpu0:nvlink1"}, "edit 'add gpu0-gpu0:nvlink1': a cable joins two different devices"},
      {p, {"slow gpu3:fast"}, "edit 'slow gpu3:fast': 'fast' is not a factor from 1 to 1000"},
      {p, {"slow gpu3:0"}, "edit 'slow gpu3:0': '0' is not a factor"},
      {p, {"slow gpu3:0.5"}, "edit 'slow gpu3:0.5': '0.5' is not a factor from 1 to 1000"},
      {p, {"slow gpu9:2"}, "edit 'slow gpu9:2': 'gpu9' is no device of p100-dgx1"},
      {p, {"scale nvswitch:2"}, "edit 'scale nvswitch:2': no cable is of such a kind: one of ib_edr, nvlink1"},
      {p, {"swap nvlink2:nvlink3"}, "edit 'swap nvlink2:nvlink3': no cable is of the kind nvlink2: one of nvlink1"},
      {p, {"set kind=nvlink1:bandwidth=50"}, "edit 'set kind=nvlink1:bandwidth=50': '50' has no unit"},
      {p,
       {"set kind=nvlink2:bandwidth=50GB/s"},
       "edit 'set kind=nvlink2:bandwidth=50GB/s': no cable is of the kind nvlink2"},
      {p, {"set kind=nvlink1:latency=5us"}, "edit 'set kind=nvlink1:latency=5us': a cable has no latency of its own"},
      {p,
       {"set transport.peer_read.r9.startup_s=5us"},
       "edit 'set transport.peer_read.r9.startup_s=5us': no such parameter: one of"},
      {p,
       {"set kind=nvlink1:bandwidth=1GB/s", "set kind=nvlink1:bandwidth=2GB/s"},
       "edit 'set kind=nvlink1:bandwidth=2GB/s': 'nvlink1' is given twice"},
      {"alps", {"fabric ring:nodes=4"}, "edit 'fabric ring:nodes=4':/fabric/generator: 'ring' is not allowed"},
      {"alps", {"fabric dragonfly:nodes=" + endless}, "edit 'fabric dragonfly:nodes=1x1"},
      {"alps", {"fabric dragonfly:nodes"}, "edit 'fabric dragonfly:nodes': 'nodes' is not key=value"},
      {"alps", {"fabric dragonfly:colour=red"}, "edit 'fabric dragonfly:colour=red':/fabric/"},
      {"summit", {"disable nvlink"}, "edits 'disable nvlink' leave gpu0 of summit without a way to a CPU"},
      {p, {"remove plx3-cpu1"}, "edits 'remove plx3-cpu1' leave gpu6 of p100-dgx1 without a way to a CPU"}};
  for (const auto& [platform, edits, expected] : rows) {
    const std::string error = error_of(platform, edits);
    INFO(error);
    CHECK(error.substr(0, expected.size()) == expected);
    CHECK(error.find('\n') == std::string::npos);
  }
}

TEST_CASE("a device or a kind in place of a cable is named with what is there", "[unit][edit]") {
  const std::vector<std::pair<Texts, std::string>> rows = {
      {{"remove nic3"}, "edit 'remove nic3': 'nic3' is a device, not a cable: at it are nic3-plx3 (1 x pcie3)"},
      {{"remove nic3-plx3", "remove nic3"}, "edit 'remove nic3': 'nic3' is a device, and has no cable left"},
      {{"scale nic3:0.5"}, "edit 'scale nic3:0.5': 'nic3' is a device, not a cable: at it are nic3-plx3"},
      {{"flaky nic3:0.5"}, "edit 'flaky nic3:0.5': 'nic3' is a device, not a cable: at it are nic3-plx3"},
      {{"disable gpu0"}, "edit 'disable gpu0': 'gpu0' is a device, not a cable: at it are "},
      {{"remove nvlink"}, "edit 'remove nvlink': 'nvlink' is a kind of cables: write disable nvlink, or one cable"},
      {{"remove nic9"}, "edit 'remove nic9': 'nic9' is no device of p100-dgx1: one of gpu0, "}};
  for (const auto& [edits, expected] : rows) CHECK(error_of("p100-dgx1", edits).substr(0, expected.size()) == expected);
}

TEST_CASE("a refused edit says which would do", "[unit][edit]") {
  const std::vector<std::tuple<std::string, Texts, std::string>> rows = {
      {"p100-dgx1",
       {"fabric dragonfly"},
       "edit 'fabric dragonfly':/fabric/switches_per_node: missing key; edit 'fabric dragonfly:nodes=N' says which "
       "keys N nodes take"},
      {"hgx-h100",
       {"fabric fat_tree", "oversubscription 2"},
       "edit 'fabric fat_tree:nodes=127':/fabric/levels: missing key; missing: levels, "},
      {"p100-dgx1",
       {"add gpu0-gpu5:nvlink"},
       "edit 'add gpu0-gpu5:nvlink': no platform here has cables of the kind nvlink (did you mean 'nvlink5', "
       "'nvlink4', "
       "'nvlink3', 'nvlink2' or 'nvlink1'?): say its rate"}};
  for (const auto& [platform, edits, expected] : rows) {
    const std::string error = error_of(platform, edits);
    INFO(error);
    CHECK(error.substr(0, expected.size()) == expected);
  }
}

TEST_CASE("a forced transport that the edits take away is refused", "[unit][edit]") {
  const std::string copy = "predict p2p --platform v100-dgx1 --src gpu0 --dst gpu3 --size 1MiB --disable p2p ";
  for (const std::string& forced : {copy + "--transport peer", "whatif " + copy + "--via gpu1"}) {
    const auto run = test::run_program(forced);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(test::lines_of(run.err) == 1);
  }
  CHECK(test::run_program(copy + "--transport staged").code == 0);
}

}  // namespace linkcast::test::edit_test
