// What the generators refuse: a fabric that cannot be built, with the place and the reason.
#include "tests/support/catch.hpp"
#include "tests/support/fabric_examples.hpp"

namespace linkcast::test::fabric_refusal_test {

namespace {

struct Refusal {
  std::string change;  ///< JSON merge patch
  std::string says;    ///< "<pointer>: <part of the reason>"
};

/// @param good  the "fabric" object of a topology that is accepted
void check_refusals(const std::string& good, int nics, const std::vector<Refusal>& refusals) {
  const auto build = [&](const std::string& change) {
    Topology topology;
    topology.path = "test";
    topology.fabric = parse_json(good, "good");
    topology.fabric.merge_patch(parse_json(change, "change"));
    for (int nic = 0; nic < nics; ++nic) {
      topology.devices.emplace_back();
      topology.devices.back().id = "nic" + std::to_string(nic);
      topology.devices.back().kind = DeviceKind::kNic;
    }
    return make_fabric(topology);
  };
  REQUIRE(build("{}"));
  for (const auto& [change, says] : refusals) {
    INFO(change);
    std::string what;
    try {
      build(change);
    } catch (const InputError& error) {
      what = error.what();
    }
    INFO(what);
    CHECK(what.rfind("test:/fabric" + says, 0) == 0);
  }
}

std::string object(const std::string& generator, const std::string& parameters, const std::vector<std::string>& links) {
  return R"({"generator": ")" + generator + R"(", "source": "test", "routing": "minimal", )" + parameters + ", " +
         links_text(links) + "}";
}

}  // namespace

TEST_CASE("refused: what every fabric shares", "[unit][fabric]") {
  const std::string good = object("single_switch", R"("nodes": 4, "radix": 8)", {"host"});
  check_refusals(
      good, 2,
      {{R"({"generator": "moebius"})",
        "/generator: 'moebius' is not allowed: one of dragonfly, dragonfly_plus, fat_tree"},
       {R"({"source": ""})", "/source: a fabric without a source"},
       {R"({"source": null})", "/source: missing key"},
       {R"({"routing": "best"})", "/routing: 'best' is not allowed: one of minimal, ecmp, valiant, adaptive"},
       {R"({"nics": ["nic7"]})", "/nics: 'nic7' is no nic"},
       {R"({"nics": ["nic0", "nic0"]})", "/nics: 'nic0' is listed twice"},
       {R"({"nics": []})", "/nics: names no nic"},
       {R"({"colour": 1})", "/colour: unknown key; known here: "},
       {R"({"nodes": 0})", "/nodes: must be at least 1"},
       {R"({"nodes": null})", "/nodes: missing key"},
       {R"({"nodes": 5})", "/nodes: 5 nodes do not fit: 1 switches with 8 ports for NICs take 4"},
       {R"({"nodes": 2000000000})", "/nodes: too large: 4000000000 endpoints"},
       {R"({"radix": 7})", "/radix: 7 ports do not divide into nodes with 2 NICs"},
       {R"({"links": {"host": null}})", "/links/host: missing key"},
       {R"({"links": {"spine": {}}})", "/links/spine: unknown key"},
       {R"({"links": {"host": {"cable": "rope"}}})", "/links/host/cable: 'rope' is no cable between nodes"},
       {R"({"links": {"host": {"bandwidth": "0 GB/s"}}})", "/links/host/bandwidth: must be above 0"},
       {R"({"links": {"host": {"bandwidth": "25"}}})", "/links/host/bandwidth: "},
       {R"({"links": {"host": {"latency": "-1 us"}}})", "/links/host/latency: "},
       {R"({"links": {"host": {"source": ""}}})", "/links/host/source: a rate without a source"}});
}

TEST_CASE("refused: no NIC, no fabric", "[unit][fabric]") {
  Topology topology;
  topology.path = "test";
  CHECK_THROWS_WITH(make_fabric(topology), "test:/fabric: missing: this platform describes no network between nodes");
  topology.fabric = parse_json(object("single_switch", R"("nodes": 4, "radix": 8)", {"host"}), "test");
  CHECK_THROWS_WITH(make_fabric(topology), "test:/fabric: a fabric joins the nics of nodes, and this node has none");
}

TEST_CASE("refused: impossible dragonflies", "[unit][fabric]") {
  const std::string good = object("dragonfly",
                                  keys({{"nodes", 18},
                                        {"switches_per_node", 2},
                                        {"endpoints_per_switch", 2},
                                        {"groups", 9},
                                        {"switches_per_group", 4},
                                        {"global_links", 1},
                                        {"nodes_per_group", 2},
                                        {"global_ports_per_switch", 2},
                                        {"radix", 7}}),
                                  {"host", "local", "global"});
  check_refusals(
      good, 4,
      {{R"({"groups": 10})",
        "/groups: 1 cables to each of 9 other groups need 9 global ports; the 4 switches of a group"},
       {R"({"groups": 1})", "/groups: must be at least 2"},
       {R"({"global_links": 2})", "/groups: 2 cables to each of 8 other groups need 16 global ports"},
       {R"({"global_links": 0})", "/global_links: must be at least 1"},
       {R"({"radix": 6})", "/radix: 6 ports are too few: 2 to endpoints, 3 inside the group and 2 to other groups"},
       {R"({"switches_per_node": 3})", "/switches_per_node: the 4 NICs of a node do not spread evenly over 3 switches"},
       {R"({"endpoints_per_switch": 3})", "/endpoints_per_switch: 3 ports do not divide into nodes with 2 NICs each"},
       {R"({"switches_per_group": 5, "radix": 9})", "/switches_per_group: 5 switches do not divide into sets of 2"},
       {R"({"nodes_per_group": 3})", "/nodes_per_group: 3 nodes do not fit: 4 switches with 2 ports for NICs take 2"},
       {R"({"nodes": 19})", "/nodes: 19 nodes do not fit: 9 groups of 2 take 18"},
       {R"({"links": {"global": null}})", "/links/global: missing key"},
       {R"({"groups": 40000, "global_ports_per_switch": 10000, "radix": 20000, "nodes_per_group": 2})",
        "/groups: too large: "}});
}

TEST_CASE("refused: impossible dragonflies+", "[unit][fabric]") {
  const std::string good = object("dragonfly_plus",
                                  keys({{"nodes", 30},
                                        {"switches_per_node", 1},
                                        {"endpoints_per_leaf", 2},
                                        {"groups", 5},
                                        {"leaves_per_group", 3},
                                        {"spines_per_group", 4},
                                        {"global_links", 4},
                                        {"nodes_per_group", 6},
                                        {"global_ports_per_spine", 4},
                                        {"radix", 7}}),
                                  {"host", "local", "global"});
  check_refusals(
      good, 1,
      {{R"({"groups": 6})",
        "/groups: 4 cables to each of 5 other groups need 20 global ports; the 4 spines of a group"},
       {R"({"radix": 6})", "/radix: 6 ports of a spine are too few: 3 to leaves and 4 to other groups"},
       {R"({"endpoints_per_leaf": 4})", "/radix: 7 ports of a leaf are too few: 4 to spines and 4 for endpoints"},
       {R"({"nodes_per_group": 7})", "/nodes_per_group: 7 nodes do not fit"},
       {R"({"nodes": 31})", "/nodes: 31 nodes do not fit: 5 groups of 6 take 30"}});
  // Slow endpoints share split ports, as on Leonardo.
  CHECK_NOTHROW(make_fabric(read_topology(test::data_dir() + "/topologies/leonardo.json")));
}

TEST_CASE("refused: impossible fat trees", "[unit][fabric]") {
  const std::string two = object("fat_tree",
                                 keys({{"levels", 2},
                                       {"nodes", 16},
                                       {"switches_per_node", 1},
                                       {"endpoints_per_leaf", 4},
                                       {"radix", 8},
                                       {"leaves", 4},
                                       {"spines", 2},
                                       {"uplinks_per_leaf", 4}}),
                                 {"host", "leaf_spine"});
  check_refusals(
      two, 1,
      {{R"({"levels": 1})", "/levels: must be 2 or 3"},
       {R"({"radix": 9})", "/radix: must be even"},
       {R"({"radix": 6})", "/radix: 6 ports are too few for a switch of the level leaf: 4 down and 4 up"},
       {R"({"leaves": 5, "nodes": 20})", "/radix: 8 ports are too few for a switch of the level spine: 10 down"},
       {R"({"uplinks_per_leaf": 3})", "/uplinks_per_leaf: 3 cables do not spread evenly over 2 switches above"},
       {R"({"nodes": 17})", "/nodes: 17 nodes do not fit: 4 switches with 4 ports for NICs take 16"},
       {R"({"pods": 2})", "/pods: unknown key"}});
  const std::string three = object("fat_tree",
                                   keys({{"levels", 3},
                                         {"nodes", 16},
                                         {"switches_per_node", 1},
                                         {"endpoints_per_leaf", 2},
                                         {"radix", 4},
                                         {"pods", 4},
                                         {"leaves_per_pod", 2},
                                         {"aggregations_per_pod", 2},
                                         {"uplinks_per_leaf", 2},
                                         {"cores", 4},
                                         {"uplinks_per_aggregation", 2}}),
                                   {"host", "leaf_aggregation", "aggregation_core"});
  check_refusals(
      three, 1,
      {{R"({"pods": 1})", "/pods: must be at least 2"},
       {R"({"pods": 5, "nodes": 20})", "/radix: 4 ports are too few for a switch of the level core: 5 down"},
       {R"({"cores": 3})", "/cores: 3 core switches do not divide into one set for each of the 2"},
       {R"({"uplinks_per_aggregation": 3})", "/uplinks_per_aggregation: 3 cables do not spread evenly over 2"},
       {R"({"leaves_per_pod": 3})",
        "/radix: 4 ports are too few for a switch of the level aggregation: 3 down and 2 up"},
       {R"({"leaves": 4})", "/leaves: unknown key"}});
}

TEST_CASE("refused: impossible tori and rails", "[unit][fabric]") {
  const std::string torus = object("torus", R"("dimensions": [4, 2], "nics": ["nic0"])", {"torus"});
  check_refusals(torus, 2,
                 {{R"({"dimensions": [4, 1]})", "/dimensions: a dimension of 1 is no ring: at least 2"},
                  {R"({"dimensions": []})", "/dimensions: a torus needs at least one dimension"},
                  {R"({"dimensions": 4})", "/dimensions: must be an array"},
                  {R"({"dimensions": [40000, 40000]})", "/dimensions: too large: "},
                  {R"({"nics": ["nic0", "nic1"]})", "/nics: the NIC of a torus is its router: name the one NIC of 2"}});
  const std::string rails = object(
      "rail_optimized",
      keys({{"nodes", 6}, {"nodes_per_unit", 3}, {"units", 2}, {"radix", 8}, {"spines", 2}, {"uplinks_per_leaf", 2}}),
      {"host", "leaf_spine"});
  check_refusals(
      rails, 4,
      {{R"({"nodes": 7})", "/nodes: 7 nodes do not fit"},
       {R"({"units": 3})", "/radix: 8 ports are too few for a switch of the level spine: 12 down"},
       {R"({"nodes_per_unit": 7})", "/radix: 8 ports are too few for a switch of the level leaf: 7 down and 2 up"},
       {R"({"switches_per_node": 4})", "/switches_per_node: unknown key"}});
}

}  // namespace linkcast::test::fabric_refusal_test
