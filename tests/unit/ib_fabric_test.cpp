// ibnetdiscover and iblinkinfo as fabrics, and the generator that takes a fabric of any shape.
#include <set>

#include "sim/machine/fabric.hpp"
#include "sim/records/node_groups.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/fabric_examples.hpp"
#include "tests/unit/import_topology.hpp"

namespace linkcast::test::ib_fabric_test {
namespace {

std::unique_ptr<Fabric> fabric_of(const Json& record, int nics = 1) {
  Json own = record["fabric"];
  for (const char* key : {"generator", "source", "routing", "nics"}) own.erase(key);
  ObjectReader reader(own, "test", "/fabric");
  return fabric_generators().get("listed").build(reader, nics);
}

std::set<std::string> hosts_of(const Json& record) {
  std::set<std::string> names;
  for (const Json& host : record["fabric"]["hosts"]) names.insert(host["name"]);
  return names;
}

}  // namespace

TEST_CASE("ibnetdiscover: hosts at their leaves, one cable from each leaf to the spine", "[unit][import]") {
  const Json record = import_json("ib-fabric", {"ibnetdiscover.txt"});
  const NodeGroups groups = read_node_groups(record, "test");
  CHECK(groups.switches.at("leaf-a").nodes == std::vector<std::string>{"node001", "node002"});
  CHECK(groups.switches.at("leaf-b").nodes == std::vector<std::string>{"node003"});
  const auto fabric = fabric_of(record);
  CHECK(fabric->endpoints() == 3);
  CHECK(fabric->switches() == 3);
  CHECK(fabric->links() == 2 * (3 + 2));
  CHECK(fabric->classes().front().name == "host");
  for (const FabricLinkClass& one : fabric->classes()) {
    CHECK(one.bandwidth.si == 25e9);  // 4 lanes of HDR: 200 Gb/s
    CHECK(one.cable == "ib_hdr");
  }
  CHECK(fabric->distance(0, 1) == 0);
  CHECK(fabric->distances().at(static_cast<std::size_t>(fabric->distance(0, 2))) == "2 switch cables apart");
  std::vector<int> route;
  fabric->minimal_way(0, 2, 0, route);
  REQUIRE(route.size() == 4);
  CHECK(fabric->vertex_name(fabric->link(route[1]).from) == "leaf-a");
  CHECK(fabric->vertex_name(fabric->link(route[1]).to) == "spine");
  CHECK(fabric->vertex_name(fabric->link(route[2]).to) == "leaf-b");
  CHECK(fabric->link(route[3]).to == 2);
}

TEST_CASE("cables without lanes, and from a port to itself, are refused", "[unit][import]") {
  const auto refusal = [](const std::string& file, const std::string& from, const std::string& to) {
    const Changed changed(file, {{from, to}});
    return test::error_of([&] { import_json("ib-fabric", {changed.path()}); });
  };
  CHECK(refusal("ibnetdiscover.txt", "4xHDR", "0xHDR").find("0x is no width of a cable") != std::string::npos);
  CHECK(refusal("ibnetdiscover.txt", R"("H-bbbb000000000001"[1](bbbb000000000001) )", R"("S-aaaa000000000001"[1] )")
            .find("port 1 of aaaa000000000001 has a cable to itself") != std::string::npos);
  CHECK(refusal("ibnetdiscover.txt", "4xHDR", "3xHDR").find("3x is no width of a cable") != std::string::npos);
}

TEST_CASE("iblinkinfo: rates by lanes and speed, ports that are down, SHARP's nodes", "[unit][import]") {
  const Json record = import_json("ib-fabric", {"iblinkinfo.txt"});
  CHECK(hosts_of(record) == std::set<std::string>{"node001", "node002", "node003"});
  CHECK(record["fabric"]["links"]["host_2xHDR"]["bandwidth"] == "12.5 GB/s");  // 2 lanes of 50 Gb/s
  CHECK(record["source"].get<std::string>().find("aggregation nodes inside switches are left out") !=
        std::string::npos);
  const auto fabric = fabric_of(record);
  std::vector<int> route;
  fabric->minimal_way(0, 2, 0, route);
  CHECK(fabric->classes()[static_cast<std::size_t>(fabric->link(route.front()).link_class)].name == "host");
  CHECK(fabric->classes()[static_cast<std::size_t>(fabric->link(route.back()).link_class)].name == "host_2xHDR");
}

TEST_CASE("subnets of InfiniBand that are refused, and what is left out is said", "[unit][import]") {
  const auto error = [](const std::string& file) {
    return linkcast::test::error_of([&] { return import_json("ib-fabric", {file}); });
  };
  const std::string good = "ibnetdiscover.txt";
  CHECK(error(Changed(good, {{" 4xHDR", ""}}).path()).find("line 9: the rate of the cable is missing") !=
        std::string::npos);
  CHECK(error(Changed(good, {{"lid 1 4xHDR\n[2]", "lid 1 4xEDR\n[2]"}}).path()).find("4xHDR at its other end") !=
        std::string::npos);
  CHECK(error(Changed(good, {{"[1]\t\"S-aaaa000000000001\"[21]", "[1]\t\"S-aaaa000000000001\"[22]"}}).path())
            .find("line 26: port 1 of aaaa000000000003 has another cable in line 11") != std::string::npos);
  CHECK(error("topo-h200.txt").find("no cable of a switch") != std::string::npos);
  const Changed two(good, {{"[2]\t\"H-bbbb000000000002\"[1](bbbb000000000002) \t\t# \"node002 mlx5_0\"",
                            "[2]\t\"H-bbbb000000000002\"[1](bbbb000000000002) \t\t# \"node001 mlx5_1\""}});
  const Json uneven = import_json("ib-fabric", {two.path()}, {{"hcas", "mlx5_0"}});
  CHECK(hosts_of(uneven) == std::set<std::string>{"node001", "node003"});
  CHECK(uneven["source"].get<std::string>().find("adapters that option hcas does not name are left out: mlx5_1") !=
        std::string::npos);
}

TEST_CASE("a listed fabric has as many routes as bundles and spines give", "[unit]") {
  const auto build = [](const std::string& cables) {
    return build_fabric(
        "listed",
        R"("switches": ["a", "b", "s", "t"], "hosts": [{"name": "x", "class": "host", "switches": ["a"]},
                        {"name": "y", "class": "host", "switches": ["b"]}], "cables": [)" +
            cables + "]",
        {"host", "switch"});
  };
  const auto bundle = [](const std::string& a, const std::string& b, int count) {
    return R"({"between": [")" + a + R"(", ")" + b + R"("], "count": )" + std::to_string(count) +
           R"(, "class": "switch"})";
  };
  const std::string all =
      bundle("a", "s", 2) + "," + bundle("s", "b", 3) + "," + bundle("a", "t", 1) + "," + bundle("t", "b", 1);
  const auto fabric = build(all);
  const int count = fabric->minimal_ways(0, 1);
  REQUIRE(count == 2 * 3 + 1 * 1);
  std::set<std::vector<int>> routes;
  for (int which = 0; which < count; ++which) {
    std::vector<int> route;
    fabric->minimal_way(0, 1, which, route);
    REQUIRE(route.size() == 4);
    for (std::size_t i = 0; i + 1 < route.size(); ++i)
      CHECK(fabric->link(route[i]).to == fabric->link(route[i + 1]).from);
    CHECK(fabric->link(route.front()).from == 0);
    CHECK(fabric->link(route.back()).to == 1);
    routes.insert(route);
  }
  CHECK(routes.size() == 7);
  CHECK(linkcast::test::error_of([&] { return build(bundle("a", "s", 1)); }).find("no route leads between") !=
        std::string::npos);
}

}  // namespace linkcast::test::ib_fabric_test
