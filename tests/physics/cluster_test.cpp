// Messages and collectives between nodes against closed forms.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "sim/forecast/collective_cost.hpp"
#include "sim/machine/adaptive_routing.hpp"
#include "sim/machine/binary_tree.hpp"
#include "sim/machine/fabric.hpp"
#include "sim/machine/library.hpp"
#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/unlearned.hpp"

namespace linkcast::test::cluster_test {

namespace {

Json message(const std::string& platform, const std::string& src, const std::string& dst, double size_B) {
  return ask({{"platform", platform}, {"kind", "p2p"}, {"src", src}, {"dst", dst}, {"size_B", size_B}});
}

Json across(const std::string& platform, int nodes, int per_node, double size_B, Json more = Json::object()) {
  Json query{{"platform", platform}, {"kind", "collective"},      {"launch", "graph"},      {"op", "all_reduce"},
             {"nodes", nodes},       {"gpus_per_node", per_node}, {"library", "nccl-2.18"}, {"size_B", size_B}};
  query.update(more);
  return ask(query);
}

/// Growth of the bytes' time on so many nodes, where it was not measured.
double grown(int nodes) { return std::pow(1 + key::network_growth.prior->value, std::log2(nodes) - 1); }

}  // namespace

TEST_CASE("a message between neighbours takes what was fitted", "[physics]") {
  const double startup = parameter("alps", "transport.mpi_network.r0.startup_s");
  const double rate = parameter("alps", "transport.mpi_network.r0.bandwidth_Bps");
  for (const double size : {1.0, 1e6, 1e9}) {
    const Json near = message("alps", "node0/gpu0", "node1/gpu0", size);
    CHECK(near["distance"] == "same switch");
    CHECK_THAT(near["time_s"].get<double>(), WithinRel(startup + size / rate, 1e-9));
  }
}

TEST_CASE("a far message pays the latency of its way and no bandwidth", "[physics]") {
  const Fabric& fabric = catalogue().machine("alps")->cluster().fabric();
  const Json near = message("alps", "node0/gpu0", "node1/gpu0", 1e8);
  const Json far = message("alps", "node0/gpu0", "node2000/gpu0", 1e8);
  CHECK(far["distance"] == "other group");
  double way_s = 0, near_s = 0;
  std::vector<int> links;
  fabric.minimal_way(0, 4 * 2000, 0, links);
  for (const int link : links)
    way_s += fabric.classes()[static_cast<std::size_t>(fabric.link(link).link_class)].latency.si;
  links.clear();
  fabric.minimal_way(0, 4, 0, links);
  for (const int link : links)
    near_s += fabric.classes()[static_cast<std::size_t>(fabric.link(link).link_class)].latency.si;
  CHECK_THAT(far["time_s"].get<double>() - near["time_s"].get<double>(),
             WithinRel(parameter("alps", "cable.slingshot.latency_scale") * (way_s - near_s), 1e-6));
}

TEST_CASE("every route of a message is contiguous from GPU to GPU", "[physics]") {
  for (const char* platform : {"alps", "leonardo", "lumi", "summit"}) {
    const Json far = message(platform, "node0/gpu0", "node100/gpu1", 4096);
    std::string at = "node0/gpu0";
    for (const Json& link : far["route"]) {  // "node0/gpu0->cpu0", "nic3->group0/switch1"
      const auto text = link.get<std::string>();
      const auto arrow = text.find("->");
      const bool inside = text.rfind("node", 0) == 0;
      const std::string node = inside ? text.substr(0, text.find('/') + 1) : "";
      if (inside && at.rfind("node", 0) == 0) CHECK(text.substr(0, arrow) == at);
      at = node + text.substr(arrow + 2);
    }
    CHECK(at == "node100/gpu1");
  }
}

TEST_CASE("routes between nodes: every way there is, up to k of each kind", "[physics]") {
  const Cluster& cluster = catalogue().machine("leonardo")->cluster();
  const auto routes = [](int k) {
    return ask({{"platform", "leonardo"},
                {"kind", "routes"},
                {"src", "node0/gpu0"},
                {"dst", "node300/gpu2"},
                {"size_B", 1e6},
                {"k", k}});
  };
  const int minimal = cluster.fabric().minimal_ways(0, 4 * 300 + 2), detours = cluster.fabric().detours(0, 4 * 300 + 2);
  const Json all = routes(1000), few = routes(2);
  CHECK(all["minimal_ways"] == minimal);
  CHECK(all["detours"] == detours);
  CHECK(static_cast<int>(all["routes"].size()) == std::min(minimal, 1000) + std::min(detours, 1000));
  CHECK(few["routes"].size() == 4);
  double before = 0;
  std::set<std::string> seen;
  for (const Json& route : all["routes"]) {
    CHECK(route["time_s"].get<double>() >= before);
    before = route["time_s"].get<double>();
    CHECK(route["route"].size() == route["hops"].get<std::size_t>() + 4);  // GPU, switch, NIC at both ends
    seen.insert(route["route"].dump());
  }
  CHECK(seen.size() == all["routes"].size());
  CHECK(query::answer(
            catalogue(),
            {{"platform", "leonardo"}, {"kind", "routes"}, {"src", "node0/gpu0"}, {"dst", "node3/gpu2"}, {"k", 0}})
            .value("error", "")
            .find("/k") != std::string::npos);
}

TEST_CASE("double binary tree: both span all nodes, and no node is inner twice", "[physics]") {
  for (int nodes = 2; nodes <= 65; ++nodes) {
    CAPTURE(nodes);
    std::vector<int> inner(static_cast<std::size_t>(nodes), 0);
    for (const int which : {0, 1}) {
      const BinaryTree tree = double_binary_tree(nodes, which);
      std::set<int> seen = {tree.root};
      std::vector<int> open = {tree.root};
      while (!open.empty()) {
        const int node = open.back();
        open.pop_back();
        const auto& children = tree.children[static_cast<std::size_t>(node)];
        CHECK(children.size() <= (node == tree.root ? 1 : 2));
        if (node != tree.root && !children.empty()) ++inner[static_cast<std::size_t>(node)];
        for (const int child : children) {
          CHECK(tree.parent[static_cast<std::size_t>(child)] == node);
          CHECK(seen.insert(child).second);
          open.push_back(child);
        }
      }
      CHECK(static_cast<int>(seen.size()) == nodes);
    }
    CHECK(*std::max_element(inner.begin(), inner.end()) <= 1);
  }
}

/// Every NIC sends and receives each byte 2 (n - 1) / n times in a ring, shared by the NICs; a tree's inner nodes make
/// up for their leaves, so that both trees together pass each byte twice.
TEST_CASE("large all_reduce is bound by the NICs in use", "[physics]") {
  const Cluster& cluster = catalogue().machine("leonardo")->cluster();
  const double nic = 12.5e9 * cluster.wire_share();
  for (const int nodes : {2, 4, 9}) {
    const double size = 4e9, ranks = 4.0 * nodes;
    const Json ring = across(unlearned("leonardo"), nodes, 4, size, {{"algorithm", "ring"}, {"protocol", "Simple"}});
    const double bytes_s = ring["time_s"].get<double>() - ring["latency_s"].get<double>();
    CHECK_THAT(bytes_s, WithinRel(grown(nodes) * 2 * (ranks - 1) / ranks * size / (4 * nic), 1e-6));
  }
}

TEST_CASE("blocks move no more between nodes than was measured of them there", "[physics]") {
  Json calibration = read_json_file(unlearned("leonardo", false));
  calibration["parameters"]["nccl.network.Simple.channel_Bps"]["value"] = 1e8;
  const ScratchFolder folder;
  const auto path = (folder / "slow.json").string();
  std::ofstream(path) << calibration.dump();
  const Json slow = across(path, 2, 1, 1e8, {{"algorithm", "ring"}, {"protocol", "Simple"}});
  // Of two ranks each sends all bytes once.
  CHECK(slow["time_s"].get<double>() >= 1e8 / (slow["blocks"].get<double>() * 1e8));
}

TEST_CASE("hops of a tree over other links than the ring's take what the library says of those", "[physics]") {
  const Platform& machine = catalogue().machine(unlearned("v100-dgx1"))->platform();
  const RingLibrary& library = ring_library("nccl-2.18");
  Communicator made = library.build(machine, {0, 1, 2, 3});
  const auto hop_s = [&](const std::string& path_class) {
    made.tree_class = path_class;
    return cost_of(machine, library, made, "tree", "LL", 1).hop_s;
  };
  REQUIRE(library.hop_latency("LL", "PHB").si > library.hop_latency("LL", "NVL").si);
  CHECK_THAT(hop_s("PHB") / hop_s("NVL"),
             WithinRel(library.hop_latency("LL", "PHB").si / library.hop_latency("LL", "NVL").si, 1e-12));
}

TEST_CASE("the two trees together pass each byte twice by every NIC but the root's", "[physics]") {
  const double nic = 12.5e9 * catalogue().machine("leonardo")->cluster().wire_share(), size = 4e9;
  for (const int nodes : {4, 8, 16, 64}) {
    const Json tree = across("leonardo", nodes, 4, size, {{"algorithm", "tree"}, {"protocol", "Simple"}});
    // and 512 KiB of each block wait at each hop
    CHECK_THAT(tree["time_s"].get<double>() - tree["latency_s"].get<double>(),
               WithinRel(grown(nodes) * 2 * size / (4 * nic), 0.02));
  }
}

TEST_CASE("one GPU a node uses one NIC", "[physics]") {
  const double nic = 12.5e9 * catalogue().machine("leonardo")->cluster().wire_share();
  const Json ring = across(unlearned("leonardo"), 4, 1, 1e9, {{"algorithm", "ring"}, {"protocol", "Simple"}});
  CHECK_THAT(ring["time_s"].get<double>() - ring["latency_s"].get<double>(),
             WithinRel(grown(4) * 2 * 3 / 4.0 * 1e9 / nic, 1e-6));
  CHECK(ring["channels"] == Json::parse("[[0]]"));
}

TEST_CASE("adaptive routing spreads a hot pair of switches", "[physics]") {
  // Two switches of one group, 8 pairs across: one cable between them, 30 switches to go round by.
  const Fabric& fabric = catalogue().machine("alps")->cluster().fabric();
  std::vector<Demand> demands;
  std::map<int, std::vector<int>> by_switch;
  for (int nic = 0; nic < 64; ++nic) {
    std::vector<int> way;
    fabric.minimal_way(nic, nic < 32 ? nic + 32 : nic - 32, 0, way);
    by_switch[fabric.link(way.front()).to].push_back(nic);
  }
  REQUIRE(by_switch.size() >= 2);
  const auto& here = by_switch.begin()->second;
  const auto& there = std::next(by_switch.begin())->second;
  for (std::size_t i = 0; i < 8; ++i) demands.push_back({here[i], there[i], 1e6});
  const auto even = [](int) { return 1 / 25e9; };
  const std::vector<double> shares = endpoint_detours(fabric, even, demands).shares;
  double stays = 0;
  for (const double share : shares) stays += 1 - share;
  CHECK(stays < 1.5);  // of 8 NICs' traffic about one cable's worth
  CHECK(endpoint_detours(fabric, even, {{here[0], there[0], 1e6}}).shares == std::vector<double>{0});
}

TEST_CASE("detours that stand for all take the cables of a group evenly", "[physics]") {
  // Alps: 32 switches of a group, each with 8 of its 128 nodes in pairs; 27 cables to each of 20 other groups.
  const Fabric& fabric = catalogue().machine("alps")->cluster().fabric();
  const auto end = [](int group, int number) { return group * 512 + number / 2 * 32 + number % 2 * 2; };
  std::map<int, double> shares;  // of cables that leave group 0 for other groups than the target
  std::vector<WeightedLink> ways;
  for (int from = 0; from < 32; ++from)
    for (int to = 0; to < 32; ++to) {
      ways.clear();
      add_adaptive_links(fabric, end(0, from), end(1, to), {1, 32}, ways);
      for (const WeightedLink& one : ways) {
        const FabricLink link = fabric.link(one.link);
        const std::string here = fabric.vertex_name(link.from), there = fabric.vertex_name(link.to);
        if (link.link_class == 2 && here.rfind("group0/", 0) == 0 && there.rfind("group1/", 0) != 0)
          shares[one.link] += one.share;
      }
    }
  REQUIRE(shares.size() == 19 * 27);
  double sum = 0, most = 0;
  for (const auto& [link, share] : shares) {
    sum += share;
    most = std::max(most, share);
  }
  CHECK(most < 1.25 * sum / (19 * 27));
}

TEST_CASE("clusters of 4096 GPUs are a handful of flows", "[physics]") {
  for (const std::string& platform : {unlearned("alps"), unlearned("leonardo")}) {
    const Json all = across(platform, 1024, 4, 1073741824);
    CHECK(all["bottleneck"].size() > 0);
    CHECK(all["time_s"].get<double>() > across(platform, 2, 4, 1073741824)["time_s"].get<double>());
  }
}

TEST_CASE("rings over nodes are those that a collective over them runs", "[physics]") {
  const Json asked{{"platform", "alps"}, {"nodes", 8}, {"gpus_per_node", 4}, {"op", "all_reduce"}, {"size_B", 1e9}};
  const auto ask = [&](const char* kind) {
    Json query = asked;
    query["kind"] = kind;
    return query::answer(catalogue(), query);
  };
  const Json rings = ask("rings"), collective = ask("collective");
  REQUIRE(rings.value("error", "") == "");
  CHECK(rings["nodes"] == 8);
  CHECK(rings["channels"] == collective["channels"]);
  CHECK(rings["library"] == collective["library"]);
  CHECK(rings["library_takes"]["algorithm"] == collective["algorithm"]);
  CHECK(rings["library_takes"]["protocol"] == collective["protocol"]);
}

TEST_CASE("wrong cluster queries are refused in one line", "[physics]") {
  const auto error = [&](Json query) { return query::answer(catalogue(), query).value("error", ""); };
  const Json base{
      {"platform", "alps"}, {"kind", "collective"}, {"launch", "graph"}, {"op", "all_reduce"}, {"size_B", 1e6}};
  const auto with = [&](Json more) {
    Json query = base;
    query.update(more);
    return error(query);
  };
  CHECK(with({{"nodes", 4}, {"gpus_per_node", 5}}).find("gpus_per_node") != std::string::npos);
  CHECK(with({{"nodes", 1000000}, {"gpus_per_node", 4}}).find("nodes") != std::string::npos);
  CHECK(with({{"nodes", 2}, {"gpus_per_node", 4}, {"calls", 0}}).find("calls: must be at least 1") !=
        std::string::npos);
  CHECK(with({{"kind", "rings"}, {"nodes", 2}, {"gpus_per_node", 4}, {"op", "alltoall"}}).find("made of messages") !=
        std::string::npos);
  CHECK(with({{"nodes", 4}, {"gpus_per_node", 4}, {"library", "nccl-1"}}).find("one node") != std::string::npos);
  CHECK(with({{"nodes", 4}, {"gpus_per_node", 4}, {"platform", "gx8"}}).find("fabric") != std::string::npos);
  CHECK(error({{"platform", "alps"}, {"kind", "p2p"}, {"src", "node0/gpu9"}, {"dst", "node1/gpu0"}, {"size_B", 1}})
            .find("gpu9") != std::string::npos);
  CHECK(error({{"platform", "alps"}, {"kind", "p2p"}, {"src", "nodeX/gpu0"}, {"dst", "node1/gpu0"}, {"size_B", 1}})
            .find("nodeX") != std::string::npos);
}

}  // namespace linkcast::test::cluster_test
