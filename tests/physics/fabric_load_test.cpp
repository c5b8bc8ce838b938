// Traffic of a fabric against closed forms: average way, edge forwarding index of each class, bisection, peaks.
#include <chrono>
#include <map>
#include <set>

#include "sim/base/limits.hpp"
#include "sim/machine/fabric_facts.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fabric_examples.hpp"

namespace linkcast::test::fabric_load_test {

namespace {

/// Ways over each link, pair by pair, and the sum of the lengths.
struct Counted {
  explicit Counted(const Fabric& fabric) : loads(static_cast<std::size_t>(fabric.links())) {
    std::vector<int> way;
    for (int from = 0; from < fabric.endpoints(); ++from)
      for (int to = 0; to < fabric.endpoints(); ++to) {
        if (from == to) continue;
        const int ways = fabric.minimal_ways(from, to);
        for (int which = 0; which < ways; ++which) {
          way.clear();
          fabric.minimal_way(from, to, which, way);
          for (const int id : way) loads[static_cast<std::size_t>(id)] += 1.0 / ways;
        }
        length += static_cast<double>(way.size());
      }
  }
  std::vector<double> loads;
  double length = 0;
};

/// Every link of a class carries the same.
void check_class(const Fabric& fabric, const std::string& name, double expected) {
  INFO(name);
  const Counted counted(fabric);
  int found = 0;
  for (int id = 0; id < fabric.links(); ++id) {
    if (fabric.classes()[static_cast<std::size_t>(fabric.link(id).link_class)].name != name) continue;
    ++found;
    REQUIRE_THAT(counted.loads[static_cast<std::size_t>(id)], WithinRel(expected, kExact));
  }
  CHECK(found > 0);
  const bounds::FabricFacts facts = bounds::fabric_facts(fabric, 1);
  for (std::size_t c = 0; c < fabric.classes().size(); ++c) {
    if (fabric.classes()[c].name != name) continue;
    CHECK_THAT(facts.loads[c].most, WithinRel(expected, kExact));
    CHECK_THAT(facts.loads[c].mean, WithinRel(expected, kExact));
    CHECK(facts.cables[c] == found / 2);
  }
}

}  // namespace

TEST_CASE("a turn maps switches, links and ways onto each other", "[physics][fabric]") {
  for (const auto& [name, fabric] : small_fabrics()) {
    INFO(name);
    const auto turned = [&f = *fabric](int vertex) { return f.turned_switch(vertex); };
    std::map<int, std::vector<int>> at_switch;  // endpoints
    for (int end = 0; end < fabric->endpoints(); ++end) at_switch[fabric->link(2 * end).to].push_back(end);
    if (fabric->turns() == 1) continue;
    std::vector<int> seen(static_cast<std::size_t>(fabric->links()), 0);
    for (int id = 2 * fabric->endpoints(); id < fabric->links(); ++id) {
      const FabricLink before = fabric->link(id), after = fabric->link(fabric->turned_link(id));
      REQUIRE(after.from == turned(before.from));
      REQUIRE(after.to == turned(before.to));
      REQUIRE(after.link_class == before.link_class);
      REQUIRE(++seen[static_cast<std::size_t>(fabric->turned_link(id))] == 1);
    }
    const auto ways = [&](int from, int to, bool turn) {
      std::multiset<std::vector<int>> all;
      for (int which = 0; which < fabric->minimal_ways(from, to); ++which) {
        std::vector<int> way;
        fabric->minimal_way(from, to, which, way);
        std::vector<int> inner(way.begin() + 1, way.end() - 1);
        for (int& link : inner) link = turn ? fabric->turned_link(link) : link;
        all.insert(inner);
      }
      return all;
    };
    for (const auto& [here, senders] : at_switch)
      for (const auto& [there, getters] : at_switch) {
        const auto next_here = at_switch.find(turned(here)), next_there = at_switch.find(turned(there));
        if (here == there || next_here == at_switch.end() || next_there == at_switch.end()) continue;
        REQUIRE(ways(senders[0], getters[0], true) == ways(next_here->second[0], next_there->second[0], false));
      }
  }
}

TEST_CASE("facts of a fabric are those of a walk over all pairs", "[physics][fabric]") {
  for (const auto& [name, fabric] : small_fabrics()) {
    INFO(name);
    const Counted counted(*fabric);
    const bounds::FabricFacts facts = bounds::fabric_facts(*fabric, 1);
    const double pairs = static_cast<double>(fabric->endpoints()) * (fabric->endpoints() - 1);
    CHECK_THAT(facts.average_links, WithinRel(counted.length / pairs, kExact));
    double sum = 0, most = 0, all_pairs = 0, cables = 0;
    for (std::size_t c = 0; c < facts.loads.size(); ++c) {
      sum += facts.loads[c].mean * 2 * facts.cables[c];
      cables += facts.cables[c];
      most = std::max(most, facts.loads[c].most);
    }
    for (const double share : facts.pairs) all_pairs += share;
    CHECK_THAT(sum, WithinRel(counted.length, kExact));  // no way is lost
    CHECK_THAT(most, WithinRel(*std::max_element(counted.loads.begin(), counted.loads.end()), kExact));
    CHECK(all_pairs == pairs);
    CHECK(2 * cables == fabric->links());
    // Nobody sends faster than its own cables, and the half of all sends at most what the cut carries.
    CHECK(facts.alltoall.si <= (fabric->switches() > 0 ? 1 : 6) * 25e9 * (1 + kExact));
    const double half = fabric->endpoints() / 2, other = fabric->endpoints() - half;
    const double crossing = half * other * facts.alltoall.si / (fabric->endpoints() - 1);
    CHECK_THAT(facts.bisection.cables * 25e9, WithinRel(facts.bisection.bandwidth.si, kExact));
    CHECK(crossing <= facts.bisection.bandwidth.si * (1 + kExact));
  }
}

TEST_CASE("single switch: each cable carries one way to every other endpoint", "[physics][fabric]") {
  check_class(*single_switch(7), "host", 6);
  const bounds::FabricFacts facts = bounds::fabric_facts(*single_switch(8), 1);
  CHECK(facts.average_links == 2);
  CHECK_THAT(facts.alltoall.si, WithinRel(25e9, kExact));
  CHECK_THAT(facts.allreduce.si, WithinRel(12.5e9, kExact));
  CHECK_THAT(facts.bisection.bandwidth.si, WithinRel(4 * 25e9, kExact));
  CHECK(facts.bisection.cables == 4);
}

// p endpoints a leaf, l leaves, u cables up: a leaf's p endpoints send to the p (l - 1) endpoints of the others.
TEST_CASE("fat tree of two levels: p p (l - 1) / u ways a cable", "[physics][fabric]") {
  check_class(*fat_tree(TwoLevelsOf{6, 3, 3, 3}), "leaf_spine", 3.0 * 3 * 5 / 3);
  check_class(*fat_tree(TwoLevelsOf{4, 2, 8, 4}), "leaf_spine", 8.0 * 8 * 3 / 4);
  check_class(*rail_optimized(2, 3, 4, 2, 4), "leaf_spine", 3.0 * 3 * 7 / 4);
  // Tapered 2:1, so half of the endpoints of one half can send to the other at full rate: 16 endpoints, 8 cables.
  const bounds::FabricFacts tapered = bounds::fabric_facts(*fat_tree(TwoLevelsOf{4, 2, 8, 4}), 1);
  CHECK_THAT(tapered.bisection.bandwidth.si, WithinRel(8 * 25e9, kExact));
  // source of the bound: all traffic of a leaf crosses its u cables
  CHECK_THAT(tapered.alltoall.si, WithinRel(25e9 * 4 * 31 / (8 * 24), kExact));
}

// e endpoints a pod of l leaves, p a leaf; all of a leaf's traffic climbs u cables, all of a pod's the l' cables above.
TEST_CASE("fat tree of three levels: loads of both upper classes", "[physics][fabric]") {
  const auto full = fat_tree(ThreeLevelsOf{4, 2, 2, 4, 2, 2, 2});
  check_class(*full, "leaf_aggregation", 2.0 * (16 - 2) / 2);
  check_class(*full, "aggregation_core", 4.0 * (16 - 4) / (2 * 2));
  const auto tapered = fat_tree(ThreeLevelsOf{3, 3, 2, 4, 4, 4, 4});
  check_class(*tapered, "leaf_aggregation", 4.0 * (36 - 4) / 4);
  check_class(*tapered, "aggregation_core", 12.0 * (36 - 12) / (2 * 4));
  // Average way of the k-ary tree: 2, 4 and 6 links to k/2 - 1, (k/2)(k/2 - 1) and the remaining endpoints.
  CHECK_THAT(bounds::fabric_facts(*full, 1).average_links, WithinRel((1 * 2 + 2 * 4 + 12 * 6) / 15.0, kExact));
  CHECK_THAT(bounds::fabric_facts(*full, 1).bisection.bandwidth.si, WithinRel(8 * 25e9, kExact));
}

// One cable between two groups (g = a h + 1): it carries all a p x a p ways between them. A link inside a group carries
// p p ways of its ends, and those between its p endpoints and the a p of each of the h groups behind its other end,
// once as the first and once as the last local hop. Counted after J. Kim et al., ISCA 2008, section 3.1 (minimal
// routing).
TEST_CASE("balanced dragonfly with one cable a pair of groups", "[physics][fabric]") {
  const double p = 2, a = 4, h = 2;
  const auto fabric = dragonfly({9, 4, 2, 1});
  check_class(*fabric, "host", 9 * a * p - 1);
  check_class(*fabric, "local", p * p * (1 + 2 * a * h));
  check_class(*fabric, "global", a * p * a * p);
  // 2 links at the same switch, 3 in the group; to another group 3 and one more for each end that is not at the cable
  const double here = (p - 1) * 2 + (a - 1) * p * 3, elsewhere = a * h * a * p * (3 + 2 * (a - 1) / a);
  CHECK_THAT(bounds::fabric_facts(*fabric, 1).average_links, WithinRel((here + elsewhere) / (9 * a * p - 1), kExact));
}

// a cables between two groups of a switches, one from each switch to its like: (a p)^2 / a ways each. Of the ways from
// switch i to another switch k of another group half go to k first, half go along the own cable: p p (1 + g - 1) in
// all.
TEST_CASE("dragonfly with a cable from each switch to each other group", "[physics][fabric]") {
  const double p = 2, a = 4, g = 5;
  const auto fabric = dragonfly({5, 4, 2, 4});
  check_class(*fabric, "global", a * p * p);
  check_class(*fabric, "local", p * p * g);
  // Two groups against two: 2 x 2 x 4 cables, fewer than those of the 2 x 4 x 3 endpoints of a half
  CHECK(bounds::fabric_facts(*dragonfly({4, 4, 3, 4}), 1).bisection.cables == 2 * 2 * 4);
}

// L cables between two groups: (l p)^2 / L ways each. A leaf's p endpoints reach all others of the fabric but those at
// the leaf over s cables; with L = s every spine takes an equal share.
TEST_CASE("dragonfly+ with a cable from each spine to each other group", "[physics][fabric]") {
  const double p = 2, l = 3, s = 4, g = 5;
  const auto fabric = dragonfly_plus({5, 3, 4, 2, 4});
  check_class(*fabric, "global", l * p * l * p / s);
  check_class(*fabric, "local", p * (g * l * p - p) / s);
  const double here = (p - 1) * 2 + (l - 1) * p * 4, elsewhere = (g - 1) * l * p * 5;
  CHECK_THAT(bounds::fabric_facts(*fabric, 1).average_links, WithinRel((here + elsewhere) / (g * l * p - 1), kExact));
}

// A ring of k nodes: sum of distances k^2/4 (k even) or (k^2 - 1)/4; each of N nodes sends to N/k nodes at each offset
// of a dimension, over 2 N links of that dimension. Dally, Towles 2004, section 5.2.2.
TEST_CASE("torus: load of a link of each dimension and average distance", "[physics][fabric]") {
  const auto ring_sum = [](int k) { return k % 2 == 0 ? k * k / 4 : (k * k - 1) / 4; };
  check_class(*torus({5}), "torus", ring_sum(5) / 2.0);
  check_class(*torus({4, 4}), "torus", 16 / 4.0 * ring_sum(4) / 2);
  for (const std::vector<int>& sizes : {std::vector<int>{4, 2}, {3, 4, 2}, {2, 2, 2, 3}}) {
    const auto fabric = torus(sizes);
    const Counted counted(*fabric);
    const int nodes = fabric->endpoints();
    double hops = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const double in_dimension = static_cast<double>(nodes) / sizes[d] * ring_sum(sizes[d]);  // of one node to all
      hops += in_dimension;
      double sum = 0;
      for (int id = 2 * nodes * static_cast<int>(d); id < 2 * nodes * (static_cast<int>(d) + 1); ++id)
        sum += counted.loads[static_cast<std::size_t>(id)];
      CHECK_THAT(sum, WithinRel(nodes * in_dimension, kExact));
    }
    CHECK_THAT(bounds::fabric_facts(*fabric, 1).average_links, WithinRel(hops / (nodes - 1), kExact));
  }
  // Two halves of a 4x2 torus touch along rings of four, cut twice: 2 rings x 2 cables, or all 8 cables of the rings of
  // two.
  const Cut cut = bounds::fabric_facts(*torus({2, 4}), 1).bisection;
  CHECK(cut.cables == 4);
  CHECK_THAT(cut.bandwidth.si, WithinRel(4 * 25e9, kExact));
}

TEST_CASE("expected peaks inside a node are the paper's", "[physics][fabric]") {
  const auto peaks = [](const std::string& name) {
    const auto found = bounds::node_peaks(read_topology(test::data_dir() + "/topologies/" + name + ".json"));
    REQUIRE(found);
    return *found;
  };
  // SC24, sections IV-A and IV-C: four ways cross the link of GCD 1 and 5; 600 and 800 Gb/s
  const bounds::NodePeaks lumi = peaks("lumi");
  CHECK_THAT(lumi.forwarding_index, WithinRel(4.0, kExact));
  CHECK_THAT(lumi.alltoall.si * 8, WithinRel(600e9, kExact));
  CHECK(lumi.rings == 4);
  CHECK_THAT(lumi.allreduce.si * 8, WithinRel(800e9, kExact));
  // the same sections: fully connected, so all links of a GPU: 3 x 1.2 Tb/s and 3 x 800 Gb/s (table I)
  for (const auto& [name, bits] : {std::pair("alps", 3.6e12), std::pair("leonardo", 2.4e12)}) {
    CHECK(peaks(name).forwarding_index == 1);
    CHECK_THAT(peaks(name).alltoall.si * 8, WithinRel(bits, kExact));
    CHECK_THAT(peaks(name).allreduce.si * 8, WithinRel(bits, kExact));
  }
}

TEST_CASE("the search for a bisection ends at a deadline", "[physics][fabric]") {
  const auto fabric = single_switch(400);
  REQUIRE(fabric->links() < 1024);  // looks between two at the clock: building the graph alone sees no deadline
  const work::StopFlag flag;
  const work::Scope scope(flag, work::Scope::Clock::now() - std::chrono::seconds(1));
  CHECK_THROWS_AS(bisection(*fabric, 200), work::Stopped);
}

}  // namespace linkcast::test::fabric_load_test
