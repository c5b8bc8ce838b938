// Traffic of a large machine that is the same from turn to turn: one turn stands for all. And a machine of which a few
// nodes are placed.
#include <algorithm>

#include "sim/machine/placed_fabric.hpp"
#include "sim/plan/switch_pairs.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::turned_traffic_test {

namespace {

struct Loads {
  std::vector<double> of_one_turn, of_all;
};

/// All nodes send as much to all others.
Loads loads(const std::string& base, const std::string& fabric) {
  const catalogue::MachinePtr id = catalogue().edited(catalogue().machine(base), {"fabric " + fabric});
  const Cluster& cluster = id->cluster();
  std::vector<int> endpoints;
  for (int end = 0; end < cluster.fabric().endpoints(); ++end) endpoints.push_back(end);
  const congestion::SwitchPairs pairs(cluster, endpoints);
  const auto switches = static_cast<std::size_t>(pairs.switches());
  REQUIRE(pairs.irregular().empty());
  REQUIRE(switches * switches >= 600000);
  congestion::SwitchPairs::Traffic traffic{std::vector<double>(switches * switches, 1e6),
                                           std::vector<double>(switches, 1e-6)};
  Loads made{pairs.link_bytes(traffic), std::vector<double>(static_cast<std::size_t>(cluster.fabric().links()), 0)};
  pairs.each_pair(traffic, [&](int, int, const std::vector<WeightedLink>& links) {
    for (const WeightedLink& passed : links) made.of_all[static_cast<std::size_t>(passed.link)] += passed.share * 1e6;
  });
  return made;
}

}  // namespace

TEST_CASE("one turn stands for all: a fat tree has the loads of the walk over all pairs", "[physics][turns]") {
  const Loads made =
      loads("leonardo",
            "fat_tree:levels=3,nodes=1600,switches_per_node=1,endpoints_per_leaf=8,pods=20,leaves_per_pod=40,"
            "aggregations_per_pod=4,uplinks_per_leaf=4,cores=8,uplinks_per_aggregation=2,radix=64,"
            "links.leaf_aggregation.cable=ib_hdr,links.leaf_aggregation.bandwidth=25GB/"
            "s,links.leaf_aggregation.latency=155ns,"
            "links.aggregation_core.cable=ib_hdr,links.aggregation_core.bandwidth=25GB/"
            "s,links.aggregation_core.latency=230ns,"
            "links.leaf_aggregation.source=assumed,links.aggregation_core.source=assumed");
  for (std::size_t link = 0; link < made.of_all.size(); ++link)
    REQUIRE_THAT(made.of_one_turn[link], WithinRel(made.of_all[link], kExact));
}

TEST_CASE("one turn stands for all: a dragonfly's busiest link and its sum within 2 % of the walk",
          "[physics][turns]") {
  const Loads made =
      loads("alps",
            "dragonfly:nodes=1600,groups=25,nodes_per_group=64,switches_per_group=32,endpoints_per_switch=8,"
            "global_ports_per_switch=12,global_links=16");
  constexpr double kSampled = 0.02;  // source: ours, other detours are sampled
  CHECK_THAT(*std::max_element(made.of_one_turn.begin(), made.of_one_turn.end()),
             WithinRel(*std::max_element(made.of_all.begin(), made.of_all.end()), kSampled));
  double one = 0, all = 0;
  for (const double bytes : made.of_one_turn) one += bytes;
  for (const double bytes : made.of_all) all += bytes;
  CHECK_THAT(one, WithinRel(all, kSampled));
}

TEST_CASE("a few nodes are placed: they come first, all others in the fabric's order", "[physics]") {
  const Cluster& cluster = catalogue().machine("leonardo")->cluster();
  const std::vector<int> first{333, 7, 8};
  std::vector<int> order = first;
  for (int node = 0; node < cluster.nodes(); ++node)
    if (std::find(first.begin(), first.end(), node) == first.end()) order.push_back(node);
  const auto placed = placed_cluster(cluster, first);
  const auto links = [](const Fabric& fabric, int from, int to) {
    std::vector<int> all;
    fabric.minimal_way(from, to, 0, all);
    return all;
  };
  for (int node = 1; node < cluster.nodes(); ++node) {
    const std::vector<int> here = links(placed->fabric(), 2, 4 * node + 3);
    REQUIRE(here == links(cluster.fabric(), 4 * 333 + 2, 4 * order[static_cast<std::size_t>(node)] + 3));
    REQUIRE(placed->fabric().link(here.front()).from == 2);
    REQUIRE(placed->fabric().link(here.back()).to == 4 * node + 3);
  }
}

}  // namespace linkcast::test::turned_traffic_test
