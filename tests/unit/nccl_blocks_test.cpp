// Graph era: blocks and threads of a size, channels of a message, and rows of switches that reduce, on communicators
// written down here; every rule as models/libraries/SOURCES.md states it.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "models/libraries/graph/tuner.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::nccl_blocks_test {

namespace {

using graph::TunerTraits;

const TunerTraits& traits_of(const std::string& library) {
  for (const graph::Version& version : graph::versions())
    if (version.name == library) return version.tuner;
  throw InputError("no such version: " + library);
}

/// So many rings of 4 blocks each, of this speed.
Communicator rings(int count, double GBps, int gpus, const std::string& library = "nccl-2.18") {
  Communicator made;
  made.library = library;
  for (int k = 0; k < gpus; ++k) made.gpus.push_back(k);
  made.channels.resize(static_cast<std::size_t>(count));
  for (Channel& ring : made.channels) ring.blocks = 4;
  made.library_channel_bandwidth = {GBps * 1e9};
  return made;
}

TunerEntry row(const std::string& algorithm, const std::string& protocol) {
  TunerEntry made;
  made.algorithm = algorithm;
  made.protocol = protocol;
  return made;
}

/// By algorithm, of 96 MB.
std::map<std::string, TunerEntry> rows(const std::string& library, const Communicator& made, const std::string& op,
                                       int sm, bool nvls = true, bool collnet = true) {
  std::map<std::string, TunerEntry> found;
  for (const TunerEntry& one :
       graph::switch_rows(traits_of(library), made, {sm, sm, false, false}, {op, {96e6}, "", "", nvls, collnet})) {
    CHECK(one.protocol == "Simple");
    CHECK_THAT(one.time.si, WithinRel(one.latency.si + 96e6 / one.bandwidth.si, 1e-12));
    found[one.algorithm] = one;
  }
  return found;
}

}  // namespace

TEST_CASE("blocks and threads: one less while they would idle, then half the threads", "[unit][blocks]") {
  const Communicator made = rings(3, 20, 5);
  for (const char* algorithm : {"ring", "tree"})
    for (const std::string protocol : {"LL", "LL128", "Simple"})
      for (double size = 1; size < 1e9; size *= 1.7) {
        const double least = protocol == "Simple"               ? 64
                             : protocol == "LL128"              ? 8
                             : std::string(algorithm) == "ring" ? 8 * 5
                                                                : 8;
        int blocks = 12, threads = protocol == "LL128" ? 640 : 512;
        while (blocks > 1 && size < blocks * threads * least) --blocks;
        while (threads % 128 == 0 && size < blocks * threads * least) threads /= 2;
        const TunerChoice choice =
            graph::with_blocks(traits_of("nccl-2.18"), made, row(algorithm, protocol), {"all_reduce", {size}, "", ""});
        INFO(algorithm << " " << protocol << " " << size);
        CHECK(choice.channels == blocks);
        CHECK(choice.threads == threads);
        CHECK(choice.payload_share == (protocol == "LL" ? 0.5 : protocol == "LL128" ? 120.0 / 128 : 1));
        CHECK(choice.entry.algorithm == algorithm);
      }
  // a Simple ring of at most 12 GB/s takes half the threads; a tree, LL and faster rings do not
  const auto threads = [](const Communicator& one, const char* algorithm, const char* protocol) {
    return graph::with_blocks(traits_of("nccl-2.18"), one, row(algorithm, protocol), {"all_reduce", {1e9}, "", ""})
        .threads;
  };
  CHECK(threads(rings(1, 12, 4), "ring", "Simple") == 256);
  CHECK(threads(rings(2, 6, 4), "ring", "Simple") == 256);
  CHECK(threads(rings(2, 6.1, 4), "ring", "Simple") == 512);
  CHECK(threads(rings(1, 12, 4), "tree", "Simple") == 512);
  CHECK(threads(rings(1, 12, 4), "ring", "LL") == 512);
  CHECK(threads(rings(1, 12, 4), "ring", "LL128") == 640);
  Communicator between = rings(1, 12, 4);  // between nodes by what crosses the network
  between.nodes = 2;
  between.network_channel_bandwidth = {24e9};
  CHECK(threads(between, "ring", "Simple") == 512);
  Communicator multicast = rings(3, 20, 8);
  multicast.nvls_blocks = 16;
  const TunerChoice nvls =
      graph::with_blocks(traits_of("nccl-2.30"), multicast, row("nvls", "Simple"), {"all_reduce", {8}, "", ""});
  CHECK(nvls.channels == 16);
  CHECK(nvls.threads == 640);
}

TEST_CASE("blocks from 2.27 on: whole cells of 16 KiB of traffic", "[unit][blocks]") {
  const int gpus = 4;
  const Communicator made = rings(3, 20, gpus, "nccl-2.27");
  for (const std::string op : {"all_reduce", "all_gather", "reduce_scatter", "broadcast"})
    for (const std::string protocol : {"LL", "Simple"})
      for (double size = 4096; size < 1e7; size = std::ceil(size * 1.3)) {
        const bool parts = op == "all_gather" || op == "reduce_scatter";
        // a byte counts twice in all_reduce, ranks times in all_gather and reduce_scatter, four times that in LL
        const int counts = (parts ? gpus : op == "all_reduce" ? 2 : 1) * (protocol == "LL" ? 4 : 1);
        const int cell = (16384 / counts + 15) / 16 * 16;
        const int cells = static_cast<int>(std::ceil((parts ? size / gpus : size) / cell));
        const TunerRequest request{op, {size}, "", ""};
        const int before = graph::with_blocks(traits_of("nccl-2.23"), made, row("ring", protocol), request).channels;
        const int each = (cells + before - 1) / before;  // the even share rounded up
        INFO(op << " " << protocol << " " << size);
        CHECK(graph::with_blocks(traits_of("nccl-2.27"), made, row("ring", protocol), request).channels ==
              (cells + each - 1) / each);
      }
  CHECK(graph::with_blocks(traits_of("nccl-2.27"), made, row("ring", "LL"), {"all_reduce", {0}, "", ""}).channels == 1);
}

TEST_CASE("a message gets the channels divided by the ranks, in a node LL up to 16 KiB of each that it might get",
          "[unit][blocks]") {
  struct Case {
    int count, gpus, nodes, of_pair;
  };
  std::vector<Case> cases;
  for (const int count : {1, 3, 6, 8})
    for (const int gpus : {2, 3, 4, 8})
      for (const auto& [nodes, of_pair] : {std::pair{1, 2}, {1, 8}, {1, 64}, {4, 0}})
        cases.push_back({count, gpus, nodes, of_pair});
  for (const Case& one : cases) {
    Communicator made = rings(one.count, 20, one.gpus);
    made.nodes = one.nodes;
    made.message_channels = one.of_pair;
    int all = 1, ranks = 1;
    while (all < 4 * one.count) all *= 2;
    while (ranks < one.gpus * one.nodes) ranks *= 2;
    const int most = one.of_pair > 0 ? std::min(all, one.of_pair) : all,
              share = std::min(most, std::max(1, all / ranks));
    for (double size = 8; size < 8e9; size *= 2.3) {
      INFO(one.count << " " << one.gpus << " " << one.nodes << " " << one.of_pair << " " << size);
      const MessageChoice choice = graph::message_of(made, size, 0);
      const bool small = one.nodes == 1 && size <= 16384.0 * most;
      CHECK(choice.all_channels == all);
      CHECK(choice.protocol == (small ? "LL" : "Simple"));
      CHECK(choice.payload_share == (small ? 0.5 : 1));
      // parts of at least 4 KiB in LL, 64 KiB in Simple
      const int parts = static_cast<int>(std::ceil(size / (small ? 4096 : 65536)));
      int channels = std::max(1, std::min(share, parts));
      while (!small && size / channels > 16777216 && 2 * channels <= most) channels *= 2;
      CHECK(choice.channels == channels);
    }
  }
  // log of 2.28.9 on H200, 24 channels: 32 for messages; 4 GPUs get 8 each, and double above 128 MiB
  CHECK(graph::message_of(rings(6, 30, 4), 134217728, 0).channels == 8);
  CHECK(graph::message_of(rings(6, 30, 4), 134217729, 0).channels == 16);
  CHECK(graph::message_of(rings(6, 30, 4), 536870912, 0).channels == 32);
}

TEST_CASE("rows of NVLS in a node: bandwidths, start-ups, and of which operations", "[unit][blocks]") {
  Communicator node = rings(3, 20, 8);
  node.nvls_channels = 8;
  node.nvls_channel_bandwidth = {40e9};
  const double bus = 8 * 40e9;
  for (const auto& [library, efficiency] : {std::pair{"nccl-2.18", 5.0 / 6}, {"nccl-2.27", 0.85}}) {
    const auto found = rows(library, node, "all_reduce", 90);
    REQUIRE(found.size() == 1);
    CHECK_THAT(found.at("nvls").bandwidth.si, WithinRel(efficiency * bus, 1e-12));
    CHECK(found.at("nvls").enabled);
    CHECK_FALSE(rows(library, node, "all_reduce", 90, false).at("nvls").enabled);
  }
  CHECK_THAT(rows("nccl-2.27", node, "all_reduce", 100).at("nvls").bandwidth.si, WithinRel(0.74 * bus, 1e-12));
  CHECK_THAT(rows("nccl-2.18", node, "all_reduce", 90).at("nvls").latency.si, WithinRel(23e-6, 1e-12));
  CHECK_THAT(rows("nccl-2.22", node, "all_reduce", 90).at("nvls").latency.si, WithinRel(25e-6, 1e-12));
  CHECK(rows("nccl-2.12", node, "all_reduce", 90).empty());
  for (const char* op : {"all_gather", "reduce_scatter"}) {
    CHECK(rows("nccl-2.18", node, op, 90).empty());  // came with 2.20
    CHECK_THAT(rows("nccl-2.20", node, op, 90).at("nvls").bandwidth.si, WithinRel(5.0 / 6 * bus, 1e-12));
    CHECK_THAT(rows("nccl-2.23", node, op, 90).at("nvls").bandwidth.si, WithinRel(bus, 1e-12));
    CHECK_THAT(rows("nccl-2.27", node, op, 90).at("nvls").bandwidth.si, WithinRel(0.85 * bus * 49 / 64, 1e-12));
  }
  CHECK(rows("nccl-2.27", node, "broadcast", 90).empty());
  Communicator none = node;
  none.nvls_channels = 0;
  CHECK(rows("nccl-2.27", none, "all_reduce", 90).empty());
}

TEST_CASE("rows of CollNet, PAT and NVLS between nodes", "[unit][blocks]") {
  Communicator nodes = rings(3, 20, 8);
  nodes.nvls_channels = 8;
  nodes.nvls_channel_bandwidth = {40e9};
  nodes.nodes = 4;
  nodes.network_channel_bandwidth = {10e9};
  const auto across = rows("nccl-2.18", nodes, "all_reduce", 90);
  CHECK(across.size() == 4);
  CHECK_THAT(across.at("nvls").latency.si, WithinRel((23 + 18) * 1e-6, 1e-12));
  CHECK_THAT(across.at("nvls_tree").latency.si, WithinRel((23 + 4 * 19) * 1e-6, 1e-12));
  CHECK_THAT(across.at("collnet_chain").bandwidth.si, WithinRel(0.5 * 30e9, 1e-12));
  CHECK_THAT(across.at("collnet_direct").bandwidth.si, WithinRel(0.5 * 0.85 * 30e9, 1e-12));
  CHECK_THAT(rows("nccl-2.18", nodes, "all_reduce", 80).at("collnet_direct").bandwidth.si,
             WithinRel(0.5 * 30e9, 1e-12));
  CHECK_THAT(across.at("collnet_direct").latency.si, WithinRel((2 * 3.7 + 14 * 0.4 + 31) * 1e-6, 1e-12));
  CHECK_THAT(across.at("collnet_chain").latency.si, WithinRel((14 * 2.8 + 30) * 1e-6, 1e-12));
  const auto alone = rows("nccl-2.18", nodes, "all_reduce", 90, true, false);
  CHECK(alone.size() == 1);
  CHECK(alone.count("nvls_tree") == 1);
  Communicator single = rings(2, 20, 1);
  single.nodes = 8;
  single.network_channel_bandwidth = {10e9};
  CHECK_FALSE(rows("nccl-2.23", single, "all_reduce", 90).at("collnet_direct").enabled);
  for (const char* op : {"all_gather", "reduce_scatter"}) {
    const auto pat = rows("nccl-2.23", single, op, 90);
    REQUIRE(pat.size() == 1);
    CHECK_THAT(pat.at("pat").bandwidth.si, WithinRel(0.75 * 20e9, 1e-12));
    CHECK_THAT(pat.at("pat").latency.si, WithinRel((8 + 3 * 4 + 8 * 2.8) * 1e-6, 1e-12));
    CHECK(rows("nccl-2.22", single, op, 90).empty());
    CHECK(rows("nccl-2.23", nodes, op, 90).empty());  // several GPUs a node
  }
  CHECK(rows("nccl-2.23", single, "broadcast", 90).empty());
  CHECK_THAT(graph::multicast_share(90).value, WithinRel(8 * 40 * 0.85 * (1 + 1.0 / 8 + 1.0 / 9) / (18 * 20.6), 1e-12));
  CHECK_THAT(graph::multicast_share(100).value,
             WithinRel(8 * 80 * 0.74 * (1 + 1.0 / 8 + 1.0 / 9) / (18 * 40.1), 1e-12));
}

TEST_CASE("bandwidth that a tree counts on: inside, of two nodes and of more", "[unit][blocks]") {
  Communicator made = rings(1, 20, 4);
  made.tree_channel_bandwidth = {30e9};
  made.network_channel_bandwidth = {12e9};
  CHECK(graph::tree_bandwidth(made).si == 30e9);
  CHECK(graph::channel_bandwidth(made).si == 20e9);
  made.nodes = 2;
  CHECK(graph::tree_bandwidth(made).si == 30e9);
  CHECK(graph::channel_bandwidth(made).si == 12e9);
  made.nodes = 3;
  CHECK(graph::tree_bandwidth(made).si == 6e9);  // a NIC serves a parent and a child
  made.gpus = {0};
  CHECK(graph::tree_bandwidth(made).si == 12e9);
  made.nodes = 2;
  CHECK(graph::tree_bandwidth(made).si == 12e9);
}

}  // namespace linkcast::test::nccl_blocks_test
