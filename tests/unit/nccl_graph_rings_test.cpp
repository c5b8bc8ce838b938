// Rings of every version over the first k GPUs of the sample topologies, against the results of the library's own
// search. Expected, if nothing else is said: models/libraries/SOURCES.md, "Graph era: results of the library's own
// search".
#include <cmath>
#include <set>

#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/nccl_graph.hpp"

namespace linkcast::test::nccl_graph_rings_test {

namespace {

using nccl_graph::build;
using nccl_graph::first;
using nccl_graph::summary;

struct Row {
  std::string machine;
  std::vector<std::string> versions;
  std::vector<std::string> rings;  // of the first 2, 3, ... GPUs
};

const std::vector<std::string> kFrom18 = {"nccl-2.18", "nccl-2.22", "nccl-2.27", "nccl-2.30"};
const std::vector<std::string> kFrom12 = {"nccl-2.12", "nccl-2.18", "nccl-2.22", "nccl-2.27", "nccl-2.30"};
const std::vector<std::string> kFrom22 = {"nccl-2.22", "nccl-2.27", "nccl-2.30"};

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"p100-dgx1", {"nccl-2.7"}, {"1x18 NVL", "2x18 NVL", "4x9 NVL", "2x6 SYS", "2x18 NVL", "4x9 NVL", "4x18 NVL"}},
      {"p100-dgx1", {"nccl-2.12"}, {"1x18 NVL", "2x18 NVL", "4x9 NVL", "1x18 NVB", "2x18 NVL", "3x9 NVL", "4x18 NVL"}},
      {"p100-dgx1", kFrom18, {"1x18 NVL", "2x18 NVL", "6x9 NVL", "1x18 NVB", "2x18 NVL", "5x9 NVL", "4x18 NVL"}},
      {"v100-dgx1", {"nccl-2.7"}, {"1x21 NVL", "2x21 NVL", "4x21 NVL", "2x6 SYS", "2x21 NVL", "4x21 NVL", "6x21 NVL"}},
      {"v100-dgx1",
       {"nccl-2.12"},
       {"1x22 NVL", "2x22 NVL", "4x22 NVL", "2x22 NVB", "2x22 NVL", "4x22 NVL", "6x22 NVL"}},
      {"v100-dgx1", kFrom18, {"1x20 NVL", "2x20 NVL", "4x20 NVL", "2x20 NVB", "2x20 NVL", "4x20 NVL", "6x20 NVL"}},
      {"sample:summit", {"nccl-2.8"}, {"2x21 NVL", "4x21 NVL", "1x21 SYS", "2x15 SYS", "2x15 SYS"}},
      {"sample:summit", kFrom18, {"2x20 NVL", "4x20 NVL", "1x20 SYS", "2x15 SYS", "2x15 SYS"}},
      {"sample:summitdev", {"nccl-2.12"}, {"2x18 NVL", "1x12 SYS", "2x12 SYS"}},
      {"sample:summitdev", {"nccl-2.8", "nccl-2.18"}, {"2x18 NVL", "1x12 SYS"}},  // PCIe is charged up to 2.18
      {"sample:summitdev", kFrom22, {"2x18 NVL", "1x18 SYS", "2x15 SYS"}},
      {"sample:leonardo", kFrom18, {"4x20 NVL", "8x20 NVL", "12x20 NVL"}},
      {"sample:alps", kFrom18, {"4x30 NVL", "8x30 NVL", "12x30 NVL"}},
      {"sample:cirrascale_gx8",
       {"nccl-2.7"},
       {"1x12 PIX", "1x12 PIX", "1x12 PIX", "1x9 PHB", "1x9 PHB", "1x9 PHB", "1x9 PHB"}},
      {"sample:cirrascale_gx8",
       kFrom12,
       {"1x12 PIX", "1x12 PIX", "1x12 PIX", "1x10 PHB", "1x10 PHB", "1x10 PHB", "1x10 PHB"}},
      {"sample:pcie8_dual", kFrom12, {"1x12 PIX", "1x10 PHB", "1x10 PHB", "1x6 SYS", "1x6 SYS", "1x6 SYS", "1x6 SYS"}},
      {"sample:lumi", kFrom18, {"4x20 NVL", "1x20 NVB", "2x20 NVL", "2x20 NVB", "3x20 NVB", "2x20 NVL", "4x20 NVL"}}};
  return kRows;
}

std::string digits(const std::vector<int>& order) {
  std::string text;
  for (const int gpu : order) text += std::to_string(gpu);
  return text;
}

std::multiset<std::string> orders(const Communicator& made) {
  std::multiset<std::string> found;
  for (const auto& channel : made.channels) found.insert(digits(channel.order));
  return found;
}

}  // namespace

TEST_CASE("graph era: rings over the first k GPUs", "[unit]") {
  for (const Row& row : rows())
    for (const std::string& version : row.versions)
      for (std::size_t i = 0; i < row.rings.size(); ++i) {
        INFO(row.machine << ", " << version << ", " << i + 2 << " GPUs");
        CHECK(summary(build(version, row.machine, first(static_cast<int>(i) + 2))) == row.rings[i]);
      }
}

TEST_CASE("graph era: shipped machines give what their samples give", "[unit]") {
  // SummitDev is left out: the shipped topology has no PCIe link to its GPUs, which the sample has.
  const std::vector<std::pair<std::string, std::string>> pairs = {{"leonardo", "sample:leonardo"},
                                                                  {"alps", "sample:alps"},
                                                                  {"lumi", "sample:lumi"},
                                                                  {"summit", "sample:summit"},
                                                                  {"gx8", "sample:cirrascale_gx8"}};
  for (const auto& [shipped, sample] : pairs)
    for (const std::string& version : nccl_graph::names())
      for (int count = 2; count <= nccl_graph::platform(shipped).gpu_count(); ++count) {
        INFO(shipped << ", " << version << ", " << count << " GPUs");
        CHECK(summary(build(version, shipped, first(count))) == summary(build(version, sample, first(count))));
      }
}

TEST_CASE("graph era: behind NVSwitches any number of GPUs gives the same", "[unit]") {
  const std::map<std::string, std::string> dgx2 = {{"nccl-2.7", "6x21 NVL"},  {"nccl-2.12", "6x22 NVL"},
                                                   {"nccl-2.18", "6x20 NVL"}, {"nccl-2.22", "6x20 NVL"},
                                                   {"nccl-2.27", "6x20 NVL"}, {"nccl-2.30", "6x20 NVL"}};
  for (const auto& [version, expected] : dgx2)
    for (int count = 2; count <= 16; ++count) {
      INFO(version << ", " << count << " GPUs");
      const auto made = build(version, "dgx2", first(count));
      CHECK(summary(made) == expected);
      for (const auto& channel : made.channels) CHECK(channel.order == first(count));
    }
  for (const std::string& version : kFrom18)
    for (const std::string machine : {"hgx-h200", "sample:hgx_h200"})
      for (int count = 2; count <= 8; ++count) CHECK(summary(build(version, machine, first(count))) == "12x30 NVL");
}

TEST_CASE("graph era: more rings are found than trees let be used", "[unit]") {
  for (const std::string version : {"nccl-2.7", "nccl-2.8", "nccl-2.12"}) {
    const auto quad = build(version, "p100-dgx1", first(4));
    CHECK(quad.rings_found == 6);
    CHECK(quad.channels.size() == 4);
  }
  for (const std::string version : {"nccl-2.8", "nccl-2.12"}) {
    const auto seven = build(version, "p100-dgx1", first(7));
    CHECK(seven.rings_found == 5);
    CHECK(seven.channels.size() == 3);
  }
}

TEST_CASE("graph era: orders of the rings over 8 GPUs of a DGX-1", "[unit]") {
  for (const std::string& version : nccl_graph::names()) {
    INFO(version);
    CHECK(orders(build(version, "p100-dgx1", first(8))) ==
          std::multiset<std::string>{"01237564", "02674513", "03154762", "04657321"});
    CHECK(orders(build(version, "v100-dgx1", first(8))) ==
          std::multiset<std::string>{"03215674", "03215674", "04765123", "04765123", "01375462", "02645731"});
  }
}

TEST_CASE("graph era: orders dumped by the real library", "[unit]") {
  // Expected: NVIDIA/nccl issue 713 (V100, 2 links per pair, 4 GPUs), in this order; the last is cut off there.
  const auto made = build("nccl-2.12", "abci-v100", first(4));
  CHECK(summary(made) == "6x22 NVL");
  REQUIRE(made.channels.size() == 6);
  const std::vector<std::string> dumped = {"0123", "0132", "0231", "0213", "031"};
  for (std::size_t i = 0; i < dumped.size(); ++i)
    CHECK(digits(made.channels[i].order).substr(0, dumped[i].size()) == dumped[i]);
  // Expected: issues 506 and 507 (8 of 16 GPUs of a DGX-2): 12 channels, chain 0 1 ... 7 in all.
  const auto half = build("nccl-2.8", "dgx2", first(8));
  int blocks = 0;
  for (const auto& tree : half.trees) {
    CHECK(tree.order == first(8));
    blocks += tree.blocks;
  }
  CHECK(blocks == 12);
  // Expected: issue 1367 (8 H100): 12 channels, 24 after duplication; the sample H200 has the same links.
  blocks = 0;
  for (const auto& channel : build("nccl-2.18", "hgx-h200", first(8)).channels) blocks += channel.blocks;
  CHECK(blocks == 24);
}

TEST_CASE("graph era: sets of 4 GPUs of a DGX-1", "[unit]") {
  // From 2.8 on relaying rescues most; sets like {0,1,2,7} and {0,1,6,7} stay at one ring through host memory. Relaying
  // can also beat pure NVLink: {0,3,4,7} of V100 has 3 rings instead of 2.
  for (const std::string& version : nccl_graph::names()) {
    if (version == "nccl-2.7") continue;
    INFO(version);
    for (const std::string machine : {"p100-dgx1", "v100-dgx1"})
      for (const std::vector<int>& gpus : {std::vector{0, 1, 2, 7}, std::vector{0, 1, 6, 7}}) {
        const auto made = build(version, machine, gpus);
        CHECK(summary(made) == "1x6 SYS");
        CHECK(made.fallback);
      }
    const auto square = build(version, "v100-dgx1", {0, 3, 4, 7});
    CHECK(square.channels.size() == 3);
    CHECK(square.path_class == "NVB");
  }
}

TEST_CASE("graph era: relaying rescues most sets of 4 GPUs of a DGX-1", "[unit]") {
  // 62 of 70 sets have no NVLink ring without it. One ring each, two where pairs are double.
  for (const std::string& version : nccl_graph::names())
    for (const std::string machine : {"p100-dgx1", "v100-dgx1"}) {
      INFO(version << ", " << machine);
      int without = 0, one = 0, two = 0;
      for (unsigned mask = 0; mask < 256; ++mask) {
        std::vector<int> gpus;
        for (int gpu = 0; gpu < 8; ++gpu)
          if ((mask >> gpu) & 1U) gpus.push_back(gpu);
        if (gpus.size() != 4) continue;
        const auto made = build(version, machine, gpus);
        without += made.fallback;
        one += made.path_class == "NVB" && made.channels.size() == 1;
        two += made.path_class == "NVB" && made.channels.size() == 2;
      }
      if (version == "nccl-2.7") {
        CHECK(without == 62);
        continue;
      }
      CHECK(without < 62 / 2);
      CHECK(one > 62 / 2);
      CHECK((two > 0) == (machine == "v100-dgx1"));
    }
  CHECK(summary(build("nccl-2.7", "v100-dgx1", {0, 3, 4, 7})) == "2x21 NVL");
}

TEST_CASE("graph era: up to 2.7 NVLink through a POWER CPU keeps its class", "[unit]") {
  for (const std::string machine : {"sample:summit", "sample:summitdev"}) {
    const int half = nccl_graph::platform(machine).gpu_count() / 2;
    const auto across = build("nccl-2.7", machine, first(half + 1));
    CHECK(across.path_class == "NVL");
    CHECK(across.tree_class == "NVL");
    CHECK(across.fallback);  // and yet the data go through host memory
    CHECK(across.link_equivalents == 0);
    CHECK(build("nccl-2.8", machine, first(half + 1)).path_class == "SYS");
  }
}

TEST_CASE("graph era: how the hop without a link is made", "[unit]") {
  const auto early = build("nccl-2.7", "p100-dgx1", first(5));
  CHECK(early.fallback);
  CHECK(early.channels[0].hops[3].kind == HopKind::kHostMemory);
  const auto late = build("nccl-2.18", "p100-dgx1", first(5));
  CHECK_FALSE(late.fallback);
  CHECK(late.channels[0].hops[3].kind == HopKind::kRelay);
  CHECK(late.channels[0].hops[3].via == 0);
  CHECK(late.link_equivalents == 1);
  CHECK(late.why == "1 ring of 18 GB/s as the library counts; no direct NVLink for 3->4 over GPU 0");
}

// source: models/libraries/SOURCES.md: below 18 GB/s 2.27 does not search on Blackwell, and AMD's sockets count for 16
TEST_CASE("graph era: no ring of a rate that is looked for", "[unit]") {
  const auto machine = catalogue().machine("rtx-pro-6000");
  const auto none = *machine->communicator("nccl-2.27", first(8));
  CHECK(none.why.rfind("the library finds no ring", 0) == 0);
  CHECK(none.why.find("GB/s") == std::string::npos);
  CHECK(none.channels.size() == 1);
  CHECK(none.channels[0].order == first(8));
  CHECK(machine->communicator("nccl-2.27", first(4))->why.find("GB/s as the library counts") != std::string::npos);
}

}  // namespace linkcast::test::nccl_graph_rings_test
