// What a collective costs beside its links, number by number: which parameter each cost is, what is believed without
// it, how errors go on, and what slow GPUs, crowding blocks and host memory make of it.
#include "sim/forecast/collective_cost.hpp"

#include <algorithm>
#include <cmath>

#include "sim/forecast/host_path.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::collective_cost_test {

namespace {

using collective::CollectiveCost;
using collective::Figure;

const std::vector<std::string> kProtocols = {"LL", "LL128", "Simple"};

/// Parameters of a protocol, each different from all others.
Values measured() {
  Values made;
  double row = 1;
  for (const std::string& protocol : kProtocols) {
    made["ring." + protocol + ".base_s"] = row * 1.1e-6;
    made["ring." + protocol + ".hop_s"] = row * 0.13e-6;
    made["ring." + protocol + ".channel_Bps"] = row * 1.7e9;
    made["ring." + protocol + ".crowding"] = row * 0.19;
    made["ring." + protocol + ".copy_steps"] = row * 0.23;
    made["ring." + protocol + ".reduce_steps"] = row * 0.047;
    made["ring." + protocol + ".read_steps"] = row * 0.071;
    made["ring." + protocol + ".read_s"] = row * 0.41e-6;
    made["ring." + protocol + ".copy_s"] = row * 0.53e-6;
    made["ring." + protocol + ".reduce_s"] = row * 0.37e-6;
    if (protocol != "LL128") made["network." + protocol + ".channel_Bps"] = row * 2.9e9;
    made["network." + protocol + ".hop_s"] = row * 3.1e-6;
    made["tree." + protocol + ".slowness"] = 1 + row * 0.21;
    ++row;
  }
  return made;
}

Values errors() {
  Values made;
  double row = 0;
  for (const auto& [name, value] : measured()) made[name] = 0.01 + 0.002 * row++;
  return made;
}

Communicator nodes_of(int nodes) {
  Communicator made = made_ring({0, 1, 2, 3});
  made.nodes = nodes;
  return made;
}

const TableRings kTable{};

/// Growth of a step between nodes, where it was not measured.
double grown(int nodes) { return 1 + key::network_hop_growth.prior->value * (std::log2(nodes) - 1); }

}  // namespace

TEST_CASE("costs of a ring are its protocol's parameters, with their errors", "[physics][cost]") {
  const Values values = measured(), error = errors();
  const auto node = made_platform("hgx-h200", values, error);
  for (const std::string& protocol : kProtocols)
    for (const int blocks : {1, 2, 10})
      for (const int nodes : {1, 3}) {
        INFO(protocol << " " << blocks << " " << nodes);
        const auto value = [&](const std::string& name) { return values.at(name); };
        const std::string ring = "ring." + protocol + ".", network = "network." + protocol + ".";
        const CollectiveCost cost = cost_of(*node, kTable, nodes_of(nodes), "ring", protocol, blocks);
        CHECK_THAT(cost.base_s, WithinRel(value(ring + "base_s"), kExact));
        CHECK_THAT(cost.hop_s, WithinRel(value(ring + "hop_s"), kExact));
        CHECK_THAT(cost.term(Figure::kBase).spread.sigma, WithinRel(error.at(ring + "base_s"), kExact));
        CHECK_THAT(cost.term(Figure::kHop).spread.sigma, WithinRel(error.at(ring + "hop_s"), kExact));
        CHECK(cost.measured(Figure::kBase));
        CHECK_THAT(cost.copy_steps, WithinRel(value(ring + "copy_steps"), kExact));
        CHECK_THAT(cost.reduce_steps, WithinRel(value(ring + "reduce_steps"), kExact));
        CHECK_THAT(cost.copy_s, WithinRel(value(ring + "copy_s"), kExact));
        CHECK_THAT(cost.reduce_s, WithinRel(value(ring + "reduce_s"), kExact));
        CHECK_THAT(cost.read_steps, WithinRel(value(ring + "read_steps"), kExact));
        CHECK_THAT(cost.read_s, WithinRel(value(ring + "read_s"), kExact));
        for (const auto& [figure, name] : {std::pair{Figure::kCopySteps, "copy_steps"},
                                           {Figure::kReadSteps, "read_steps"},
                                           {Figure::kRead, "read_s"},
                                           {Figure::kReduceSteps, "reduce_steps"},
                                           {Figure::kCopy, "copy_s"},
                                           {Figure::kReduce, "reduce_s"}})
          CHECK_THAT(cost.term(figure).spread.sigma, WithinRel(error.at(ring + name), kExact));
        // n blocks take 1 + c sqrt(n - 1) times as long, so that d ln(rate) / d ln(c) is -x / (1 + x)
        const double x = value(ring + "crowding") * std::sqrt(blocks - 1.0);
        CHECK_THAT(cost.channel_Bps, WithinRel(value(ring + "channel_Bps") / (1 + x), kExact));
        REQUIRE(cost.terms(Figure::kBlock).size() == 2);
        CHECK_THAT(cost.terms(Figure::kBlock)[0].spread.sigma, WithinRel(error.at(ring + "channel_Bps"), kExact));
        CHECK_THAT(cost.terms(Figure::kBlock)[1].spread.sigma,
                   WithinAbs(-error.at(ring + "crowding") * x / (1 + x), 1e-12));
        CHECK(cost.host_wait == 1);
        CHECK(cost.link_share == 1);
        if (nodes == 1) {
          CHECK(std::isinf(cost.network_Bps));
          CHECK(cost.network_hop_s == 0);
          CHECK_FALSE(cost.measured(Figure::kNetworkHop));
        } else {
          // In LL all blocks of one ring have one proxy; LL128 is Simple but for 8 bytes of 128.
          const std::string channel = protocol == "LL" ? "network.LL.channel_Bps" : "network.Simple.channel_Bps";
          const double share = protocol == "LL" ? 1.0 / blocks : protocol == "LL128" ? 120.0 / 128 : 1;
          CHECK_THAT(cost.network_Bps, WithinRel(value(channel) * share, kExact));
          CHECK_THAT(cost.term(Figure::kNetwork).spread.sigma, WithinRel(error.at(channel), kExact));
          CHECK_THAT(cost.network_hop_s, WithinRel(grown(nodes) * value(network + "hop_s"), kExact));
          CHECK_THAT(cost.term(Figure::kNetworkHop).spread.sigma, WithinRel(error.at(network + "hop_s"), kExact));
          CHECK(cost.measured(Figure::kNetworkHop));
        }
      }
}

TEST_CASE("latency of the first byte is the sum of its hops, with each part's own error", "[physics][cost]") {
  const Values values = measured(), error = errors();
  const auto node = made_platform("hgx-h200", values, error);
  for (const std::string& protocol : kProtocols)
    for (const int nodes : {1, 3}) {
      INFO(protocol << " " << nodes);
      const std::string ring = "ring." + protocol + ".", network = "network." + protocol + ".";
      const CollectiveCost cost = cost_of(*node, kTable, nodes_of(nodes), "ring", protocol, 4);
      const collective::Hops hops{5, 2, 3, 4, 1};
      const std::vector<std::pair<std::string, double>> parts = {
          {ring + "base_s", 1},   {ring + "hop_s", 5},  {ring + "copy_s", 3},
          {ring + "reduce_s", 4}, {ring + "read_s", 1}, {network + "hop_s", nodes == 1 ? 0 : 2 * grown(nodes)}};
      double latency_s = 0, expected = 0;
      for (const auto& [name, times] : parts) {
        latency_s += times * values.at(name);
        expected += std::pow(times * values.at(name) * error.at(name), 2);
      }
      CHECK_THAT(cost.latency_s(hops), WithinRel(latency_s, kExact));
      double variance = 0, whole_s = 0;
      for (const uncertainty::Term& part : cost.latency_terms(hops)) {
        variance += part.spread.sigma * part.spread.sigma;
        whole_s += part.seconds;
      }
      CHECK_THAT(whole_s, WithinRel(latency_s, kExact));
      CHECK_THAT(variance, WithinRel(expected, kExact));
    }
}

TEST_CASE("libraries whose blocks keep step store and add at no cost", "[physics][cost]") {
  const auto node = made_platform("hgx-h200", measured());
  TableRings early;
  early.keeps = true;
  for (const std::string& protocol : kProtocols) {
    const CollectiveCost cost = cost_of(*node, early, nodes_of(1), "ring", protocol, 8);
    CHECK(cost.reduce_s == 0);
    CHECK(cost.read_s == 0);
    CHECK(cost.read_steps == 0);
    CHECK(cost.copy_s == 0);
    CHECK(cost.copy_steps == 0);
    CHECK(cost.reduce_steps == 0);
    CHECK_THAT(cost.latency_s({6, 0, 3, 3}), WithinRel(cost.base_s + 6 * cost.hop_s, kExact));
  }
}

// source of the figures around which it is believed: what the program says of them,
// sim/forecast/collective_cost.cpp, and NCCL's own in models/libraries/SOURCES.md
TEST_CASE("without parameters the library's table is believed, as far as versions differ", "[physics][cost]") {
  const auto node = made_platform("hgx-h200", {});
  Communicator far = nodes_of(2);
  far.path_class = "SYS";
  const auto within = [](double figure, double value, double sigma) {
    return std::abs(std::log(figure / value)) <= 1.645 * sigma;
  };
  for (const std::string& protocol : kProtocols) {
    INFO(protocol);
    const int row = TableRings::row(protocol);
    const CollectiveCost near_ = cost_of(*node, kTable, nodes_of(2), "ring", protocol, 1),
                         cost = cost_of(*node, kTable, far, "ring", protocol, 1);
    CHECK_THAT(cost.base_s, WithinRel((5 + 2.5 * row) * 1e-6, kExact));
    CHECK_THAT(cost.hop_s, WithinRel((7 + 6.0 * row) * 1e-6, kExact));
    CHECK_THAT(near_.hop_s, WithinRel(cost.hop_s / 10, kExact));
    CHECK_FALSE(cost.measured(Figure::kBase));
    CHECK_FALSE(cost.measured(Figure::kNetworkHop));
    // what two H200 were measured to take: 0.83 and 0.04, 0.41 and 0.25, 0.47 and 0.08 of a step
    const double copy = row == 0 ? 0.83 : row == 1 ? 0.41 : 0.47, reduce = row == 0 ? 0.04 : row == 1 ? 0.25 : 0.08;
    CHECK(within(copy, cost.copy_steps, cost.term(Figure::kCopySteps).spread.sigma));
    CHECK(within(reduce, cost.reduce_steps, cost.term(Figure::kReduceSteps).spread.sigma));
    CHECK_FALSE(within(2 * copy, cost.copy_steps, cost.term(Figure::kCopySteps).spread.sigma));
    CHECK_FALSE(cost.measured(Figure::kCopySteps));
    // a factor of 2 between versions is inside, 4 is not
    for (const ErrorPart& spread : {cost.term(Figure::kBase).spread, cost.term(Figure::kHop).spread}) {
      CHECK(within(2, 1, spread.sigma));
      CHECK_FALSE(within(4, 1, spread.sigma));
    }
    // one block on H200, fitted: 7.3, 21 and 28 GB/s
    const double block = row == 0 ? 7.3e9 : row == 1 ? 21e9 : 28e9;
    CHECK(within(block, cost.channel_Bps, cost.terms(Figure::kBlock).front().spread.sigma));
    CHECK_FALSE(within(4 * block, cost.channel_Bps, cost.terms(Figure::kBlock).front().spread.sigma));
    CHECK_FALSE(within(block / 6, cost.channel_Bps, cost.terms(Figure::kBlock).front().spread.sigma));
    // between nodes 2 to 4 GB/s of LL, 22 to 24 of each of 16 blocks on eight NICs of 400 Gb/s
    for (const double figure : row == 0 ? std::vector{2e9, 4e9} : std::vector{22e9, 24e9})
      CHECK(within(figure, cost.network_Bps, cost.term(Figure::kNetwork).spread.sigma));
    CHECK_FALSE(within(row == 0 ? 20e9 : 100e9, cost.network_Bps, cost.term(Figure::kNetwork).spread.sigma));
    // a hop between nodes: NCCL counts on 5, 8.5 and 14 us from 2.18 on
    CHECK_THAT(cost.network_hop_s, WithinRel(row == 0 ? 5e-6 : row == 1 ? 8.5e-6 : 14e-6, kExact));
    CHECK_THAT(cost.term(Figure::kNetworkHop).spread.sigma, WithinRel(cost.term(Figure::kBase).spread.sigma, kExact));
  }
  // blocks that were never measured do not crowd much, but may: 12 of them on V100 lose 1.2
  const CollectiveCost many = cost_of(*node, kTable, nodes_of(1), "ring", "LL", 12),
                       one = cost_of(*node, kTable, nodes_of(1), "ring", "LL", 1);
  CHECK_THAT(many.channel_Bps, WithinRel(one.channel_Bps, 0.01));
  // what the library itself counts on comes before that, not before what was measured
  TableRings counts;
  counts.rate = Prior{6.6e9, 0.25};
  const CollectiveCost counted = cost_of(*node, counts, nodes_of(1), "ring", "LL", 1);
  CHECK_THAT(counted.channel_Bps, WithinRel(6.6e9, kExact));
  CHECK_THAT(counted.terms(Figure::kBlock).front().spread.sigma, WithinRel(0.25, kExact));
  const auto known = made_platform("hgx-h200", measured());
  CHECK_THAT(cost_of(*known, counts, nodes_of(1), "ring", "LL", 1).channel_Bps, WithinRel(1.7e9, kExact));
}

TEST_CASE("base and hops count as measured where both are", "[physics][cost]") {
  for (const char* missing : {"ring.LL.base_s", "ring.LL.hop_s", "network.LL.hop_s", "network.LL.channel_Bps"}) {
    Values values = measured();
    values.erase(missing);
    const auto node = made_platform("hgx-h200", values);
    const CollectiveCost cost = cost_of(*node, kTable, nodes_of(2), "ring", "LL", 1);
    INFO(missing);
    CHECK(cost.measured(Figure::kBase) == (std::string(missing).rfind("network", 0) == 0));
    CHECK(cost.measured(Figure::kNetworkHop) == (std::string(missing) != "network.LL.hop_s"));
  }
}

TEST_CASE("costs of a tree are a ring's times its slowness and the classes of hops", "[physics][cost]") {
  const Values values = measured(), error = errors();
  const auto node = made_platform("hgx-h200", values, error);
  Communicator made = nodes_of(1);
  made.tree_class = "SYS";
  for (const std::string& protocol : kProtocols)
    for (const int blocks : {1, 4}) {
      INFO(protocol << " " << blocks);
      const std::string ring = "ring." + protocol + ".";
      const double slow = values.at("tree." + protocol + ".slowness"),
                   slow_error = error.at("tree." + protocol + ".slowness");
      const CollectiveCost cost = cost_of(*node, kTable, made, "tree", protocol, blocks);
      CHECK_THAT(cost.base_s, WithinRel(slow * values.at(ring + "base_s"), kExact));
      // the table says that a hop of the tree's class takes ten times one of the ring's
      CHECK_THAT(cost.hop_s, WithinRel(10 * slow * values.at(ring + "hop_s"), kExact));
      CHECK_THAT(cost.term(Figure::kBase).spread.sigma, WithinRel(error.at(ring + "base_s"), kExact));
      CHECK_THAT(cost.term(Figure::kHop).spread.sigma, WithinRel(error.at(ring + "hop_s"), kExact));
      CHECK_THAT(cost.term(Figure::kSteps).spread.sigma, WithinRel(slow_error, kExact));
      // its error is of base and hops together
      const std::vector<uncertainty::Term> parts = cost.latency_terms({4});
      const double whole = slow_error * (cost.base_s + 4 * cost.hop_s);
      CHECK(std::any_of(parts.begin(), parts.end(), [whole](const uncertainty::Term& part) {
        return std::abs(part.spread.sigma - whole) < kExact * whole;
      }));
      // half of the threads go up, half go down; what steps store and add is of rings
      const double x = values.at(ring + "crowding") * std::sqrt(blocks - 1.0);
      CHECK_THAT(cost.channel_Bps, WithinRel(values.at(ring + "channel_Bps") / (1 + x) / 2, kExact));
      CHECK(cost.copy_s == 0);
      CHECK(cost.reduce_s == 0);
      CHECK(cost.copy_steps == 0);
      CHECK(cost.reduce_steps == 0);
    }
  const auto unknown = made_platform("hgx-h200", {});
  const CollectiveCost believed = cost_of(*unknown, kTable, made, "tree", "LL", 1);
  CHECK_THAT(believed.base_s, WithinRel(5e-6, kExact));  // as a ring's, of which trees were 0.7 to 1.1 on H200
  CHECK(std::log(1.1) < 1.645 * believed.term(Figure::kSteps).spread.sigma);
  CHECK(-std::log(0.7) < 1.645 * believed.term(Figure::kSteps).spread.sigma);
}

TEST_CASE("a slow GPU: all of a ring waits for it, a tree's hops pass it once", "[physics][cost]") {
  const Values values = measured();
  const auto even = made_platform("hgx-h200", values), slow = made_platform("hgx-h200", values, {}, {{2, 1.8}, {3, 3}});
  const auto ratio = [&](const std::string& algorithm, const std::vector<int>& gpus) {
    Communicator made = made_ring(gpus);
    made.nodes = 2;
    const CollectiveCost before = cost_of(*even, kTable, made, algorithm, "Simple", 4),
                         after = cost_of(*slow, kTable, made, algorithm, "Simple", 4);
    CHECK_THAT(after.network_hop_s, WithinRel(before.network_hop_s, kExact));  // of CPUs and cables
    CHECK_THAT(after.network_Bps, WithinRel(before.network_Bps, kExact));
    CHECK_THAT(before.channel_Bps / after.channel_Bps, WithinRel(after.base_s / before.base_s, kExact));
    CHECK_THAT(after.copy_s * before.hop_s, WithinRel(before.copy_s * after.hop_s, kExact));
    CHECK_THAT(after.reduce_s * before.hop_s, WithinRel(before.reduce_s * after.hop_s, kExact));
    return std::pair{after.base_s / before.base_s, after.hop_s / before.hop_s};
  };
  CHECK(ratio("ring", {0, 1}) == std::pair{1.0, 1.0});
  CHECK_THAT(ratio("ring", {0, 1, 2}).first, WithinRel(1.8, kExact));
  CHECK_THAT(ratio("ring", {0, 1, 2}).second, WithinRel(1.8, kExact));
  CHECK_THAT(ratio("ring", {3, 2, 1, 0}).second, WithinRel(3, kExact));
  CHECK_THAT(ratio("tree", {3, 2, 1, 0}).first, WithinRel(3, kExact));
  CHECK_THAT(ratio("tree", {3, 2, 1, 0}).second, WithinRel((1 + 1 + 1.8 + 3) / 4, kExact));
}

TEST_CASE("a step in which a reduce_scatter only receives takes its part of the blocks' time", "[physics][cost]") {
  const auto node = made_platform("hgx-h200", {{"ring.Simple.tail_steps", 1.3}});
  const Communicator made = nodes_of(1);
  const auto share = [&](const char* op, const std::string& protocol, int steps) {
    return collective::tail_share(*node, made, protocol, collectives().get(op).traits(), steps);
  };
  CHECK_THAT(share("reduce_scatter", "Simple", 3), WithinRel(3 / 4.3, kExact));
  CHECK_THAT(share("reduce_scatter", "LL", 3), WithinRel(3 / 3.8, kExact));  // 0.7 to 0.9 of a step on P100
  for (const char* op : {"all_reduce", "all_gather", "reduce", "broadcast", "allgatherv"})
    CHECK(share(op, "Simple", 3) == 1);
  CHECK(share("reduce_scatter", "Simple", 0) == 1);
}

TEST_CASE("what a hop through host memory keeps of the quicker of its ways", "[physics][cost]") {
  const auto node = made_platform("p100-dgx1", {{"ring.LL.host_wait", 0.6}}, {{"ring.LL.host_wait", 0.25}});
  TableRings waits;
  waits.wait = Prior{0.4, 0.5};
  for (const bool fallback : {false, true})
    for (const std::string protocol : {"LL", "Simple"}) {
      Communicator made = made_ring({0, 1});
      made.fallback = fallback;
      const CollectiveCost cost = cost_of(*node, waits, made, "ring", protocol, 1);
      const double wait = protocol == "LL" ? 0.6 : 0.4, error = protocol == "LL" ? 0.25 : 0.5;
      CHECK_THAT(cost.host_wait, WithinRel(fallback ? wait : 1, kExact));
      REQUIRE(cost.terms(Figure::kBlock).size() == (fallback ? 3 : 2));
      // of two ways of one rate, 1 / (1 + w) of it
      if (fallback)
        CHECK_THAT(cost.terms(Figure::kBlock)[2].spread.sigma, WithinRel(-error * wait / (1 + wait), kExact));
      CHECK(cost_of(*node, kTable, made, "ring", protocol, 1).host_wait == 1);
    }
}

}  // namespace linkcast::test::collective_cost_test
