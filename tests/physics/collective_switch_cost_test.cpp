// What multicast, switches that reduce and messages cost beside their links: which parameter each part is, and what
// host memory makes of kernels that were measured over NVLink.
#include <cmath>

#include "sim/forecast/collective_cost.hpp"
#include "sim/forecast/host_path.hpp"
#include "sim/records/parameters.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::collective_switch_cost_test {

namespace {

using collective::CollectiveCost;
using collective::Figure;

Communicator across(int nodes) {
  Communicator made = made_ring({0, 1, 2, 3});
  made.nodes = nodes;
  return made;
}

const Values kRates = {{"ring.Simple.channel_Bps", 7e9},
                       {"ring.Simple.crowding", 0.2},
                       {"network.Simple.channel_Bps", 11e9},
                       {"nvls.channel_Bps", 13e9},
                       {"nvls.link_share", 0.7},
                       {"ring.Simple.base_s", 1e-3},
                       {"nvls.chunk_s", 3e-6}};
const Values kRateErrors = {{"ring.Simple.channel_Bps", 0.11},
                            {"ring.Simple.crowding", 0.12},
                            {"network.Simple.channel_Bps", 0.13},
                            {"nvls.channel_Bps", 0.14},
                            {"nvls.link_share", 0.15}};

/// Parts that all differ: 3 of 2 us inside, 4 of 5 us between, 6 of 0.5 us a rank.
AlgorithmLatency parts() { return {20e-6, {2e-6, 3}, {5e-6, 4}, {0.5e-6, 6}}; }

}  // namespace

TEST_CASE("rates of switches: multicast has its own blocks and share of links, CollNet and PAT a ring's",
          "[physics][cost]") {
  const auto node = made_platform("hgx-h200", kRates, kRateErrors);
  TableRings table;
  table.switches = parts();
  for (const std::string algorithm : {"nvls", "nvls_tree", "collnet_chain", "collnet_direct", "pat"})
    for (const int nodes : {1, 2}) {
      INFO(algorithm << " " << nodes);
      const CollectiveCost cost = cost_of(*node, table, across(nodes), algorithm, "Simple", 5);
      const bool multicast = algorithm.rfind("nvls", 0) == 0;
      const double x = 0.2 * 2;
      CHECK_THAT(cost.channel_Bps, WithinRel(multicast ? 13e9 : 7e9 / (1 + x), kExact));
      REQUIRE(cost.terms(Figure::kBlock).size() == (multicast ? 1 : 2));
      CHECK_THAT(cost.terms(Figure::kBlock)[0].spread.sigma, WithinRel(multicast ? 0.14 : 0.11, kExact));
      CHECK_THAT(cost.link_share, WithinRel(multicast ? 0.7 : 1, kExact));
      CHECK_THAT(cost.term(Figure::kLinks).spread.sigma, WithinAbs(multicast ? 0.15 : 0, 1e-12));
      CHECK(cost.measured(Figure::kLinks) == multicast);
      if (nodes == 1) {
        CHECK(std::isinf(cost.network_Bps));
      } else {
        CHECK_THAT(cost.network_Bps, WithinRel(11e9, kExact));
        CHECK_THAT(cost.term(Figure::kNetwork).spread.sigma, WithinRel(0.13, kExact));
      }
      CHECK(cost.hop_s == (multicast ? 3e-6 : 0));  // all others' in the base
      CHECK(cost.network_hop_s == 0);
    }
}

TEST_CASE("multicast: the library's share of links is believed, and never more than all of them", "[physics][cost]") {
  TableRings table;
  table.share = {0.62, 0.21};
  const auto node = made_platform("hgx-h200", {});
  const CollectiveCost cost = cost_of(*node, table, across(1), "nvls", "Simple", 4);
  CHECK_THAT(cost.link_share, WithinRel(0.62, kExact));
  CHECK_THAT(cost.term(Figure::kLinks).spread.sigma, WithinRel(0.21, kExact));
  CHECK_FALSE(cost.measured(Figure::kLinks));
  // 475 GB/s of bus on 8 H100 need 17 GB/s of each block, which is believed at 90 %; 100 GB/s is not
  CHECK(std::abs(std::log(17e9 / cost.channel_Bps)) < 1.645 * cost.terms(Figure::kBlock).at(0).spread.sigma);
  CHECK(std::abs(std::log(100e9 / cost.channel_Bps)) > 1.645 * cost.terms(Figure::kBlock).at(0).spread.sigma);
  table.share = {1.4, 0.1};
  CHECK(cost_of(*node, table, across(1), "nvls", "Simple", 4).link_share == 1);
}

TEST_CASE("start-ups of switches are the sum of their parts, each measured or the table's", "[physics][cost]") {
  TableRings table;
  table.switches = parts();
  const double table_spread = 0.7;  // as of rings: collective_cost_test.cpp
  for (const std::string algorithm : {"nvls", "nvls_tree", "pat", "collnet_chain"}) {
    const std::string base = algorithm == "nvls_tree" ? "nvls" : algorithm;
    // name, what one takes, how many
    const std::vector<std::tuple<std::string, double, double>> all = {{base + ".base_s", 20e-6, 1},
                                                                      {algorithm + ".hop_s", 2e-6, 3},
                                                                      {algorithm + ".network_hop_s", 5e-6, 4},
                                                                      {algorithm + ".rank_s", 0.5e-6, 6}};
    for (std::size_t known = 0; known <= all.size(); ++known) {
      Values values, errors;
      double sum = 0, variance = 0;
      bool inside = true, between = true;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& [name, each_s, count] = all[i];
        const bool measured = i < known && find_parameter_row("nccl." + name) != nullptr;
        (i == 2 ? between : inside) &= measured;
        if (measured) {
          values[name] = 1.7 * each_s;
          errors[name] = 0.05 * static_cast<double>(i + 1);
        }
        const double part = (measured ? 1.7 : 1) * each_s * count;
        sum += part;
        variance += std::pow(part * (measured ? errors[name] : table_spread), 2);
      }
      values["nvls.chunk_s"] = 3e-6;  // a hop, which counts as a part of the base
      INFO(algorithm << " " << known);
      const auto node = made_platform("hgx-h200", values, errors);
      const CollectiveCost cost = cost_of(*node, table, across(2), algorithm, "Simple", 4);
      CHECK_THAT(cost.base_s, WithinRel(sum, kExact));
      CHECK_THAT(cost.term(Figure::kBase).spread.sigma, WithinRel(std::sqrt(variance) / sum, kExact));
      CHECK(cost.measured(Figure::kBase) == inside);
      CHECK(cost.measured(Figure::kNetworkHop) == between);
    }
  }
  // parts of which there are none are neither measured nor missing
  table.switches = {20e-6, {2e-6, 0}, {0, 4}, {}};
  const auto node = made_platform("hgx-h200", {{"pat.base_s", 7e-6}});
  const CollectiveCost cost = cost_of(*node, table, across(2), "pat", "Simple", 4);
  CHECK_THAT(cost.base_s, WithinRel(7e-6, kExact));
  CHECK(cost.measured(Figure::kBase));
  CHECK(cost.measured(Figure::kNetworkHop));
  table.switches = {};
  const CollectiveCost none = cost_of(*node, table, across(2), "nvls", "Simple", 4);
  CHECK(none.base_s == 0);
  CHECK(none.term(Figure::kBase).spread.sigma == 0);
}

TEST_CASE("a slow GPU slows what its kernels do for switches", "[physics][cost]") {
  TableRings table;
  table.switches = parts();
  const auto even = made_platform("hgx-h200", kRates), slow = made_platform("hgx-h200", kRates, {}, {{1, 2.5}});
  for (const std::string algorithm : {"nvls", "pat"}) {
    const CollectiveCost before = cost_of(*even, table, across(2), algorithm, "Simple", 4),
                         after = cost_of(*slow, table, across(2), algorithm, "Simple", 4);
    CHECK_THAT(after.base_s, WithinRel(2.5 * before.base_s, kExact));
    CHECK_THAT(after.channel_Bps, WithinRel(before.channel_Bps / 2.5, kExact));
    CHECK_THAT(after.network_Bps, WithinRel(before.network_Bps, kExact));
  }
}

TEST_CASE("messages cost their base, Simple what it begins later than LL", "[physics][cost]") {
  const Values values = {
      {"ring.LL.base_s", 4e-6},         {"ring.LL.hop_s", 1e-6},           {"ring.Simple.base_s", 9e-6},
      {"ring.Simple.hop_s", 2e-6},      {"sendrecv.base_s", 12e-6},        {"ring.LL.channel_Bps", 3e9},
      {"sendrecv.channel_Bps", 17e9},   {"ring.LL.copy_steps", 0.6},       {"network.LL.hop_s", 6e-6},
      {"network.LL.channel_Bps", 2e9},  {"ring.Simple.channel_Bps", 23e9}, {"ring.LL.reduce_s", 0.3e-6},
      {"ring.Simple.reduce_s", 0.7e-6}, {"ring.LL.crowding", 0.1},         {"sendrecv.simple_s", 2.5e-6}};
  const Values errors = {{"sendrecv.base_s", 0.08},
                         {"sendrecv.channel_Bps", 0.06},
                         {"ring.LL.channel_Bps", 0.09},
                         {"sendrecv.simple_s", 0.3}};
  const auto node = made_platform("hgx-h200", values, errors);
  const TableRings table;
  const CollectiveCost small = cost_of(*node, table, across(2), "messages", "LL", 1),
                       large = cost_of(*node, table, across(2), "messages", "Simple", 1);
  CHECK_THAT(small.base_s, WithinRel(12e-6, kExact));
  CHECK_THAT(large.base_s, WithinRel(12e-6 + 2.5e-6, kExact));  // whatever a ring's Simple costs
  CHECK(small.terms(Figure::kSteps).empty());
  CHECK_THAT(large.term(Figure::kSteps).spread.sigma, WithinRel(0.3 * 2.5 / 14.5, kExact));
  for (const CollectiveCost& cost : {small, large}) {
    CHECK(cost.hop_s == 0);
    CHECK(cost.copy_s == 0);
    CHECK(cost.copy_steps == 0);
    CHECK(cost.reduce_s == 0);
    CHECK_THAT(cost.term(Figure::kBase).spread.sigma, WithinRel(0.08, kExact));
  }
  CHECK_THAT(small.channel_Bps, WithinRel(3e9, kExact));
  CHECK_THAT(small.terms(Figure::kBlock).at(0).spread.sigma, WithinRel(0.09, kExact));
  CHECK_THAT(large.channel_Bps, WithinRel(17e9, kExact));
  REQUIRE(large.terms(Figure::kBlock).size() == 1);
  CHECK_THAT(large.terms(Figure::kBlock)[0].spread.sigma, WithinRel(0.06, kExact));
  CHECK_THAT(small.network_hop_s, WithinRel(6e-6, kExact));
  CHECK_THAT(small.network_Bps, WithinRel(2e9, kExact));
  // blocks of LL crowd, those of Simple do not
  const CollectiveCost lines = cost_of(*node, table, across(2), "messages", "LL", 8),
                       more = cost_of(*node, table, across(2), "messages", "Simple", 8);
  CHECK_THAT(lines.channel_Bps, WithinRel(3e9 / (1 + 0.1 * std::sqrt(7)), kExact));
  CHECK_THAT(more.channel_Bps, WithinRel(17e9, kExact));
  CHECK_THAT(more.base_s, WithinRel(large.base_s, kExact));
  // without figures of their own: base and hop of LL, and of Simple 3.8 us more (pairs of H100 and H200, 64 KiB a
  // block)
  Values fewer = values;
  fewer.erase("sendrecv.base_s");
  fewer.erase("sendrecv.simple_s");
  const auto believed = made_platform("hgx-h200", fewer);
  CHECK_THAT(cost_of(*believed, table, across(1), "messages", "LL", 1).base_s, WithinRel(5e-6, kExact));
  CHECK_THAT(cost_of(*believed, table, across(1), "messages", "Simple", 1).base_s, WithinRel(5e-6 + 3.8e-6, kExact));
  const auto slow = made_platform("hgx-h200", values, {}, {{3, 1.5}});
  const CollectiveCost slowed = cost_of(*slow, table, across(2), "messages", "Simple", 1);
  CHECK_THAT(slowed.base_s, WithinRel(1.5 * 14.5e-6, kExact));
  CHECK_THAT(slowed.channel_Bps, WithinRel(17e9 / 1.5, kExact));
}

// source of a load from host memory: H200, 1.17 us (calibrate/data/hgx-h200/20261121a-remote_load.json)
TEST_CASE("through host memory base and hop grow by a load, where they were measured over other hops",
          "[physics][cost]") {
  constexpr double kLoad_s = 1.17e-6;
  const Values values = {{"ring.LL.base_s", 4e-6},         {"ring.LL.hop_s", 1e-6},      {"ring.LL.channel_Bps", 90e9},
                         {"ring.LL.copy_steps", 0.6},      {"ring.Simple.base_s", 9e-6}, {"ring.Simple.hop_s", 2e-6},
                         {"ring.Simple.channel_Bps", 90e9}};
  const TableRings table;
  const auto node = made_platform("hgx-h200", values);
  const Communicator made = made_ring({0, 1, 2}, {1});
  for (const std::string protocol : {"LL", "Simple"}) {
    const CollectiveCost cost = cost_of(*node, table, made, "ring", protocol, 1);
    CHECK_THAT(cost.base_s, WithinRel(values.at("ring." + protocol + ".base_s") + kLoad_s, kExact));
    CHECK_THAT(cost.hop_s, WithinRel(values.at("ring." + protocol + ".hop_s") + kLoad_s, kExact));
    // 512 threads wait a load's time for 8 bytes each in LL, for 16 twice in Simple
    CHECK_THAT(cost.channel_Bps, WithinRel(512 * (protocol == "LL" ? 8 : 32) / kLoad_s, kExact));
    REQUIRE(cost.terms(Figure::kBlock).size() == 1);
    CHECK(std::log(2) > 1.3 * cost.terms(Figure::kBlock)[0].spread.sigma);  // "one load more or less"
    CHECK(std::log(1.5) < 1.645 * cost.terms(Figure::kBlock)[0].spread.sigma);
    CHECK(cost.copy_steps == 0);  // all ranks keep step there
    CHECK(cost.reduce_steps == 0);
    CHECK(cost.copy_s == 0);
    CHECK(cost.reduce_s == 0);
    // 0.9 to 1.5 us over other generations of PCIe
    CHECK(std::log(1.5 / 1.17) < 1.645 * cost.term(Figure::kHop).spread.sigma);
    CHECK(std::log(3 / 1.17) > 1.645 * cost.term(Figure::kHop).spread.sigma);
  }
  Values known = values;
  known["host.LL.base_s"] = 21e-6;
  known["host.LL.hop_s"] = 22e-6;
  known["host.LL.channel_Bps"] = 1.5e9;
  const auto taught = made_platform("hgx-h200", known, {{"host.LL.channel_Bps", 0.07}, {"host.LL.hop_s", 0.03}});
  const CollectiveCost cost = cost_of(*taught, table, made, "ring", "LL", 1);
  CHECK_THAT(cost.base_s, WithinRel(21e-6, kExact));
  CHECK_THAT(cost.hop_s, WithinRel(22e-6, kExact));
  CHECK_THAT(cost.term(Figure::kHop).spread.sigma, WithinRel(0.03, kExact));
  CHECK_THAT(cost.channel_Bps, WithinRel(1.5e9, kExact));
  CHECK_THAT(cost.terms(Figure::kBlock).at(0).spread.sigma, WithinRel(0.07, kExact));
  // blocks that were slower already keep their rate
  Values slow = known;
  slow["ring.LL.channel_Bps"] = 1e9;
  const auto slower = made_platform("hgx-h200", slow, {{"ring.LL.channel_Bps", 0.01}});
  const CollectiveCost kept = cost_of(*slower, table, made, "ring", "LL", 1);
  CHECK_THAT(kept.channel_Bps, WithinRel(1e9, kExact));
  CHECK_THAT(kept.terms(Figure::kBlock).at(0).spread.sigma, WithinRel(0.01, kExact));
  // where nothing was measured the table holds for every hop
  const auto unknown = made_platform("hgx-h200", {});
  CHECK_THAT(cost_of(*unknown, table, made, "ring", "LL", 1).base_s, WithinRel(5e-6, kExact));
  // only rings whose hops go there, trees whose hops do, and half the block's threads of a tree
  Communicator mixed = made_ring({0, 1, 2});
  Tree tree;
  tree.order = {0, 1, 2};
  tree.hops = {{0, 1, HopKind::kPeer}, {1, 2, HopKind::kHostMemory}};
  mixed.trees = {tree};
  CHECK_THAT(cost_of(*taught, table, mixed, "ring", "LL", 1).base_s, WithinRel(4e-6, kExact));
  const CollectiveCost of_tree = cost_of(*taught, table, mixed, "tree", "LL", 1);
  CHECK_THAT(of_tree.base_s, WithinRel(21e-6, kExact));
  CHECK_THAT(of_tree.channel_Bps, WithinRel(0.75e9, kExact));
  CHECK_THAT(cost_of(*taught, table, made, "tree", "LL", 1).base_s, WithinRel(4e-6, kExact));
}

TEST_CASE("messages through host memory: LL at LL's rate there, Simple at that of messages", "[physics][cost]") {
  Values values = {{"ring.LL.base_s", 4e-6},     {"ring.LL.hop_s", 1e-6},          {"ring.LL.channel_Bps", 90e9},
                   {"ring.Simple.base_s", 9e-6}, {"ring.Simple.hop_s", 2e-6},      {"ring.Simple.channel_Bps", 90e9},
                   {"host.LL.channel_Bps", 2e9}, {"host.Simple.channel_Bps", 5e9}, {"host.sendrecv.channel_Bps", 6e9},
                   {"sendrecv.base_s", 12e-6},   {"sendrecv.channel_Bps", 17e9}};
  const TableRings table;
  const auto node = made_platform("hgx-h200", values);
  Communicator made = made_ring({0, 1}, {0});
  CHECK_THAT(cost_of(*node, table, made, "messages", "LL", 1).channel_Bps, WithinRel(2e9, kExact));
  CHECK_THAT(cost_of(*node, table, made, "messages", "Simple", 1).channel_Bps, WithinRel(6e9, kExact));
  // of ring LL the base grew by a load, and messages' own base is over NVLink
  CHECK_THAT(cost_of(*node, table, made, "messages", "LL", 1).base_s, WithinRel(12e-6 + 1.17e-6, kExact));
  values["sendrecv.channel_Bps"] = 4e9;  // what messages get at all comes first
  const auto slow = made_platform("hgx-h200", values);
  CHECK_THAT(cost_of(*slow, table, made, "messages", "Simple", 1).channel_Bps, WithinRel(4e9, kExact));
  // what pairs say of the hops of messages counts, not what the ring does
  made.pairs = {
      {0, 0, HopKind::kHostMemory}, {0, 1, HopKind::kPeer}, {1, 0, HopKind::kPeer}, {1, 1, HopKind::kHostMemory}};
  CHECK_FALSE(collective::messages_through_host(made));
  CHECK(collective::through_host(made));
  CHECK_THAT(cost_of(*node, table, made, "messages", "Simple", 1).channel_Bps, WithinRel(17e9, kExact));
  made.pairs[2].kind = HopKind::kHostMemory;
  CHECK(collective::messages_through_host(made));
  CHECK_FALSE(collective::trees_through_host(made));
}

}  // namespace linkcast::test::collective_switch_cost_test
