// Between nodes: parallel aggregated trees, and switches that reduce, against closed forms.
#include <cmath>
#include <map>
#include <set>

#include "models/algorithms/tree_edges.hpp"
#include "sim/machine/binary_tree.hpp"
#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::switch_algorithms_test {

namespace {

// One switch with the ports of the nodes' NICs. source of the rate: NDR, 400 Gb/s
const std::string kSwitch =
    "fabric single_switch:nodes=32,radix=256,routing=minimal,source=test,links.host.cable=ib_ndr,"
    "links.host.bandwidth=50 GB/s,links.host.latency=300 ns,links.host.source=test";
constexpr double kNic_Bps = 0.92 * 50e9;  // what networks attain that nobody measured

// Calls in a queue: the library's own start-ups, of which a CUDA graph saves some.
Json ask(int nodes, int gpus, double size_B, const Json& more, const std::string& fabric = kSwitch) {
  Json query{
      {"platform", "hgx-h100"}, {"kind", "collective"}, {"launch", "queue"},     {"op", "all_reduce"},
      {"nodes", nodes},         {"size_B", size_B},     {"gpus_per_node", gpus}, {"edits", Json::array({fabric})}};
  query.update(more);
  return query::answer(catalogue(), query);
}

Json answered(int nodes, int gpus, double size_B, const Json& more, const std::string& fabric = kSwitch) {
  Json found = ask(nodes, gpus, size_B, more, fabric);
  INFO(found.dump());
  REQUIRE(found.value("error", "") == "");
  return found;
}

double flow_s(const Json& result) { return result["time_s"].get<double>() - result["latency_s"].get<double>(); }

const std::string kReducing = kSwitch + ",sharp=test";

}  // namespace

/// Bytes that node 0 sends as many nodes on, of a channel that sends one byte, by PAT.
std::map<int, double> shares_by_length(int nodes) {
  const catalogue::MachinePtr machine = catalogue().edited(catalogue().machine("hgx-h100"), {kSwitch});
  const Cluster& cluster = machine->cluster();
  Communicator made;
  made.gpus = {0};
  made.nodes = nodes;
  made.channels.emplace_back();
  made.channels.front().order = {0};
  activities::ClusterProblem problem(cluster);
  problem.keep_crossings();
  AlgorithmOn(cluster, made, "pat", "all_gather").add_to(problem);
  static_cast<void>(problem.problem());
  std::map<int, double> shares;
  for (const activities::ClusterProblem::Crossed& one : problem.crossed())
    if (one.from / cluster.nics() == 0) shares[one.to / cluster.nics()] += one.weight;
  return shares;
}

TEST_CASE("aggregated trees: every rank sends n - 1 parts, half of them to the next", "[physics]") {
  const std::map<int, double> shares = shares_by_length(16);
  REQUIRE(shares.size() == 4);
  for (const int k : {0, 1, 2, 3}) CHECK_THAT(shares.at(1 << k), WithinRel((8 >> k) / 15.0, 1e-12));
  const std::map<int, double> odd = shares_by_length(5);  // ranks 1 and 3; 2; 4 from the root
  REQUIRE(odd.size() == 3);
  CHECK_THAT(odd.at(1), WithinRel(0.5, 1e-12));
  CHECK_THAT(odd.at(2), WithinRel(0.25, 1e-12));
}

TEST_CASE("PAT: each NIC carries n - 1 parts of n, after log2(n) hops and what each rank adds", "[physics]") {
  for (const int nodes : {4, 16})
    for (const char* op : {"all_gather", "reduce_scatter"}) {
      const Json more{{"op", op}, {"algorithm", "pat"}, {"library", "nccl-2.23"}};
      const Json pat = answered(nodes, 1, 512 * kMiB, more);
      CHECK(pat["algorithm"] == "pat");
      CHECK(pat["protocol"] == "Simple");
      // source: models/libraries/SOURCES.md, "CollNet and PAT"
      const double hops = nodes == 4 ? 2 : 4;
      CHECK_THAT(pat["latency_s"].get<double>(), WithinRel((8 + hops * 4 + nodes * 2.8) * 1e-6, 1e-9));
      Json graph = more;
      graph["launch"] = "graph";
      CHECK_THAT(pat["latency_s"].get<double>() - answered(nodes, 1, 512 * kMiB, graph)["latency_s"].get<double>(),
                 WithinRel(parameter("hgx-h100", "nccl.graph.sooner_s"), 1e-6));
      CHECK_THAT(flow_s(pat), WithinRel(512 * kMiB * (nodes - 1) / nodes / kNic_Bps, 0.01));
      CHECK(pat["warnings"].dump().find("parallel aggregated trees") != std::string::npos);
    }
}

TEST_CASE("PAT is taken between small and large sizes, of one GPU a node, from 2.23 on", "[physics]") {
  const auto taken = [](const std::string& library, int gpus, double size_B) {
    return answered(32, gpus, size_B, {{"op", "all_gather"}, {"library", library}})["algorithm"].get<std::string>();
  };
  CHECK(taken("nccl-2.23", 1, 2 * kMiB) == "pat");
  CHECK(taken("nccl-2.22", 1, 2 * kMiB) == "ring");
  CHECK(taken("nccl-2.23", 8, 2 * kMiB) == "ring");
  CHECK(taken("nccl-2.23", 1, 65536) == "ring");        // LL has the lower start-up
  CHECK(taken("nccl-2.23", 1, 1024 * kMiB) == "ring");  // Simple the higher rate
}

TEST_CASE("CollNet: each NIC sends its part once, whatever the number of nodes", "[physics]") {
  for (const int nodes : {2, 8, 16})
    for (const char* algorithm : {"collnet_chain", "collnet_direct", "nvls"}) {
      const Json more{{"algorithm", algorithm}, {"collnet", true}};
      const Json found = answered(nodes, 8, 512 * kMiB, more, kReducing);
      CHECK(found["algorithm"] == algorithm);
      CHECK(flow_s(found) >= 512 * kMiB / 8 / kNic_Bps * (1 - 1e-9));
      CHECK_THAT(flow_s(found), WithinRel(flow_s(answered(2, 8, 512 * kMiB, more, kReducing)), 1e-6));
      CHECK(found["warnings"].dump().find("switches between nodes was never measured") != std::string::npos);
      CHECK(found["time_high_s"].get<double>() / found["time_s"].get<double>() > 1.9);  // twice at most, 90 %
    }
  // Of one GPU a node the NIC alone limits.
  const Json alone = answered(8, 1, 512 * kMiB, {{"algorithm", "collnet_chain"}}, kReducing);
  CHECK_THAT(flow_s(alone), WithinRel(512 * kMiB / kNic_Bps, 0.01));
}

TEST_CASE("CollNet is of fabrics that reduce, between nodes, and only where it is asked for", "[physics]") {
  const auto error = [](int nodes, const Json& more, const std::string& fabric) {
    return ask(nodes, 8, 512 * kMiB, more, fabric).value("error", "");
  };
  CHECK(error(4, {{"collnet", true}}, kSwitch).find("has no switches that reduce") != std::string::npos);
  CHECK(error(4, {{"algorithm", "collnet_direct"}}, kSwitch).find("has no switches that reduce") != std::string::npos);
  CHECK(error(1, {{"collnet", true}}, kReducing).find("all ranks are in one") != std::string::npos);
  CHECK(error(4, {{"algorithm", "nvls"}}, kReducing).find("ask with collnet") != std::string::npos);
  CHECK(error(4, {{"collnet", true}}, kSwitch + ",sharp=").find("sharp") != std::string::npos);
  for (const bool asked : {false, true}) {
    const Json found = answered(4, 8, 512 * kMiB, {{"alternatives", true}, {"collnet", asked}}, kReducing);
    const std::string all = found["algorithm"].get<std::string>() + found["alternatives"].dump();
    CHECK((all.find("collnet") != std::string::npos) == asked);
  }
}

TEST_CASE("a chain through nodes has one hop less than a ring, in load and in latency", "[physics]") {
  const Cluster& cluster = catalogue().machine("alps")->cluster();
  Communicator made;
  made.gpus = {0};
  made.nodes = 3;
  made.channels.emplace_back();
  made.channels.front().order = {0};
  for (const bool closed : {true, false}) {
    const double hops = closed ? 3 : 2;
    const AlgorithmOn ring(cluster, made, "ring", closed ? "all_gather" : "broadcast");
    // two of three steps of a ring; a chain once in 20 calls
    CHECK_THAT(ring.first_byte_s([](int, int) { return 1.0; }), WithinRel(closed ? 2 : 2.0 / 20, 1e-12));
    activities::ClusterProblem problem(cluster);
    ring.add_to(problem);
    double out = 0;  // bytes that leave by the nodes' ports
    for (const Use& use : problem.problem().activities.front().uses)
      for (int node = 0; node < made.nodes; ++node)
        if (problem.key(use.constraint) == cluster.key_of_fabric_link(2 * cluster.endpoint(node, cluster.nic_of(0))))
          out += use.weight;
    CHECK_THAT(out, WithinRel(hops, 1e-12));
  }
}

TEST_CASE("of two children in a tree the second talks to the parent's second GPU", "[physics]") {
  const Cluster& cluster = catalogue().machine("alps")->cluster();
  Communicator made;
  made.gpus = {0, 1};
  made.nodes = 8;
  Tree chain;
  chain.order = {0, 1};
  chain.first.nic = 0;
  chain.second.nic = 1;
  std::set<std::pair<int, int>> hops;
  tree_delay_s(cluster, made, chain, 0, [&](int from, int to) {
    hops.emplace(from, to);
    return 1.0;
  });
  const BinaryTree tree = double_binary_tree(made.nodes, 0);
  int seconds = 0;
  for (int node = 0; node < made.nodes; ++node) {
    if (node == tree.root) continue;
    const int parent = tree.parent[static_cast<std::size_t>(node)];
    const std::vector<int>& children = tree.children[static_cast<std::size_t>(parent)];
    const bool second = children.size() == 2 && children[1] == node;
    seconds += second ? 1 : 0;
    CHECK(hops.count({cluster.endpoint(node, 0), cluster.endpoint(parent, second ? 1 : 0)}) == 1);
  }
  CHECK(seconds > 0);
}

TEST_CASE("ports that one message crossed do not bound the next", "[physics]") {
  const Cluster& cluster = catalogue().machine("alps")->cluster();
  REQUIRE(cluster.routing() == FabricRouting::kAdaptive);
  activities::ClusterProblem problem(cluster);
  problem.pass_fabric(0, 4, 1);
  CHECK(std::isfinite(problem.lone_rate()));
  problem.add({});
  CHECK(std::isinf(problem.lone_rate()));
}

}  // namespace linkcast::test::switch_algorithms_test
