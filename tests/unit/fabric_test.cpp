// What holds for every fabric: its links, its ways, its names.
#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "models/fabrics/switched_fabric.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fabric_examples.hpp"

namespace linkcast::test::fabric_test {

namespace {

/// The group, pod or unit a switch is named after; empty for endpoints and what belongs to none.
std::string place_of(const Fabric& fabric, int vertex) {
  const std::string name = fabric.vertex_name(vertex);
  const auto slash = name.find('/');
  return slash == std::string::npos ? "" : name.substr(0, slash);
}

struct Graph {
  explicit Graph(const Fabric& fabric) : out(static_cast<std::size_t>(fabric.endpoints() + fabric.switches())) {
    for (int id = 0; id < fabric.links(); ++id) out[static_cast<std::size_t>(fabric.link(id).from)].push_back(id);
  }
  std::vector<std::vector<int>> out;
};

struct Shortest {
  int length = -1;
  double ways = 0;
};

/// Breadth first from one endpoint, counting the shortest routes to each other one.
/// @param inside  the vertices that may be crossed
template <class Inside>
std::vector<Shortest> shortest_from(const Fabric& fabric, const Graph& graph, int source, const Inside& inside) {
  std::vector<Shortest> found(graph.out.size());
  found[static_cast<std::size_t>(source)] = {0, 1};
  std::deque<int> queue = {source};
  while (!queue.empty()) {
    const int at = queue.front();
    queue.pop_front();
    const Shortest here = found[static_cast<std::size_t>(at)];
    for (const int id : graph.out[static_cast<std::size_t>(at)]) {
      const int next = fabric.link(id).to;
      Shortest& there = found[static_cast<std::size_t>(next)];
      if (!inside(next)) continue;
      if (there.length < 0) {
        there.length = here.length + 1;
        queue.push_back(next);
      }
      if (there.length == here.length + 1) there.ways += here.ways;
    }
  }
  return found;
}

void check_way(const Fabric& fabric, int from, int to, const std::vector<int>& way) {
  int at = from;
  for (const int id : way) {
    REQUIRE((id >= 0 && id < fabric.links()));
    REQUIRE(fabric.link(id).from == at);
    at = fabric.link(id).to;
  }
  REQUIRE(at == to);
}

}  // namespace

TEST_CASE("links of a fabric: both directions, all vertices, classes", "[unit][fabric]") {
  for (const auto& [name, fabric] : small_fabrics()) {
    INFO(name);
    const int vertices = fabric->endpoints() + fabric->switches();
    std::set<int> touched;
    REQUIRE(fabric->links() % 2 == 0);
    for (int id = 0; id < fabric->links(); ++id) {
      const FabricLink link = fabric->link(id), back = fabric->link(id ^ 1);
      REQUIRE((link.from >= 0 && link.from < vertices));
      REQUIRE(link.from != link.to);
      REQUIRE(back.from == link.to);
      REQUIRE(back.to == link.from);
      REQUIRE(back.link_class == link.link_class);
      REQUIRE((link.link_class >= 0 && link.link_class < static_cast<int>(fabric->classes().size())));
      touched.insert(link.from);
    }
    CHECK(static_cast<int>(touched.size()) == vertices);
    std::set<std::string> names;
    for (int vertex = 0; vertex < vertices; ++vertex) names.insert(fabric->vertex_name(vertex));
    CHECK(static_cast<int>(names.size()) == vertices);
    CHECK(fabric->vertex_name(1) == "nic1");
  }
}

TEST_CASE("every way of every pair is one, and no two are the same", "[unit][fabric]") {
  for (const auto& [name, fabric] : small_fabrics()) {
    INFO(name);
    std::vector<int> way;
    for (int from = 0; from < fabric->endpoints(); ++from)
      for (int to = 0; to < fabric->endpoints(); ++to) {
        if (from == to) continue;
        INFO(from << " to " << to);
        const int ways = fabric->minimal_ways(from, to), detours = fabric->detours(from, to);
        REQUIRE(ways >= 1);
        REQUIRE(detours >= 0);
        std::set<std::vector<int>> seen;
        std::set<std::size_t> lengths;
        for (int which = 0; which < ways; ++which) {
          way.clear();
          fabric->minimal_way(from, to, which, way);
          check_way(*fabric, from, to, way);
          REQUIRE(std::set<int>(way.begin(), way.end()).size() == way.size());
          lengths.insert(way.size());
          REQUIRE(seen.insert(way).second);
        }
        REQUIRE(lengths.size() == 1);
        for (int which = 0; which < detours; ++which) {
          way.clear();
          fabric->detour(from, to, which, way);
          check_way(*fabric, from, to, way);
          // In a torus the intermediate node may lie on a minimal way. Two cables between groups and nothing else are a
          // shorter route than one between two local hops, yet a dragonfly's minimal route crosses one cable only.
          const bool torus = fabric->switches() == 0, dragonfly = name.rfind("dragonfly ", 0) == 0;
          const std::size_t least = torus ? *lengths.begin() : *lengths.begin() + 1;
          REQUIRE(way.size() >= (dragonfly ? std::min<std::size_t>(least, 4) : least));
          if (!torus) REQUIRE(seen.insert(way).second);
        }
      }
  }
}

TEST_CASE("minimal ways are all shortest ones inside the groups of the pair", "[unit][fabric]") {
  for (const auto& [name, fabric] : small_fabrics()) {
    INFO(name);
    const Graph graph(*fabric);
    // A dragonfly's minimal way stays in the two groups (Kim et al. 2008): over a third one there may be shorter ones.
    const bool stays = name.rfind("dragonfly ", 0) == 0;
    for (int from = 0; from < fabric->endpoints(); ++from) {
      const auto anywhere = shortest_from(*fabric, graph, from, [](int) { return true; });
      for (int to = 0; to < fabric->endpoints(); ++to) {
        if (from == to) continue;
        std::vector<int> way;
        fabric->minimal_way(from, to, 0, way);
        Shortest expected = anywhere[static_cast<std::size_t>(to)];
        if (stays) {
          const std::set<std::string> places = {place_of(*fabric, fabric->link(way.front()).to),
                                                place_of(*fabric, fabric->link(way.back()).from)};
          const auto inside = [&](int v) { return v < fabric->endpoints() || places.count(place_of(*fabric, v)) > 0; };
          expected = shortest_from(*fabric, graph, from, inside)[static_cast<std::size_t>(to)];
        }
        INFO(from << " to " << to);
        REQUIRE(static_cast<int>(way.size()) == expected.length);
        // Dimension order leaves out the ways that mix dimensions.
        const bool ordered = name.rfind("hyperx ", 0) == 0;  // switches, and one way dimension after dimension
        if (fabric->switches() > 0 && !ordered)
          REQUIRE(fabric->minimal_ways(from, to) == static_cast<int>(expected.ways));
      }
    }
  }
}

TEST_CASE("detours of a dragonfly+ meet all leaves of the groups on their route", "[unit][fabric]") {
  const int groups = 4, size = 5;  // leaves, spines, and cables between two groups
  const auto fabric = test::dragonfly_plus({groups, size, size, 2, size});
  const int from = 0, to = 2 * size;  // the first NICs of groups 0 and 1
  std::map<int, int> crossed;
  std::vector<int> way;
  for (int which = 0; which < fabric->detours(from, to); ++which) {
    way.clear();
    fabric->detour(from, to, which, way);
    if (way.size() == 8) ++crossed[way[3]];  // NIC, leaf, spine, group on the way: from its spine to a leaf
  }
  // The size x (size - 1) detours that change spines there take each of the size x size links at most once.
  CHECK(crossed.size() == (groups - 2) * size * (size - 1));
  for (const auto& [link, ways] : crossed) CHECK(ways == 1);
}

TEST_CASE("distances: nearest first, the same both ways, each in use", "[unit][fabric]") {
  for (const auto& [name, fabric] : small_fabrics()) {
    INFO(name);
    std::map<int, std::pair<std::size_t, std::size_t>> lengths;  // shortest and longest way of each distance
    for (int from = 0; from < fabric->endpoints(); ++from)
      for (int to = 0; to < fabric->endpoints(); ++to) {
        if (from == to) continue;
        const int distance = fabric->distance(from, to);
        REQUIRE((distance >= 0 && distance < static_cast<int>(fabric->distances().size())));
        REQUIRE(distance == fabric->distance(to, from));
        std::vector<int> way;
        fabric->minimal_way(from, to, 0, way);
        auto& [least, most] = lengths.try_emplace(distance, way.size(), way.size()).first->second;
        least = std::min(least, way.size());
        most = std::max(most, way.size());
      }
    CHECK(lengths.size() == fabric->distances().size());
    std::size_t before = 0;
    for (const auto& [distance, range] : lengths) {
      // A cable from switch to switch of another group is as short as one inside a group; no way gets shorter.
      CHECK(range.first >= before);
      before = range.first;
    }
  }
}

TEST_CASE("number of links and lengths of ways are the closed forms", "[unit][fabric]") {
  const auto length = [](const Fabric& fabric, int from, int to) {
    std::vector<int> way;
    fabric.minimal_way(from, to, 0, way);
    return way.size();
  };
  CHECK(single_switch(5)->links() == 2 * 5);
  // hosts, and every leaf's up-links
  const auto two = fat_tree(TwoLevelsOf{6, 3, 3, 3});
  CHECK(two->links() == 2 * (18 + 6 * 3));
  CHECK(length(*two, 0, 1) == 2);
  CHECK(length(*two, 0, 3) == 4);
  CHECK(two->minimal_ways(0, 3) == 3);
  // k-ary: k^3/4 hosts, as many cables on each of the levels above; (k/2)^2 ways between pods
  const auto three = fat_tree(ThreeLevelsOf{4, 2, 2, 4, 2, 2, 2});
  CHECK(three->endpoints() == 4 * 4 * 4 / 4);
  CHECK(three->links() == 2 * 3 * 16);
  CHECK(three->switches() == 5 * 4 * 4 / 4);
  CHECK(length(*three, 0, 2) == 4);
  CHECK(length(*three, 0, 4) == 6);
  CHECK(three->minimal_ways(0, 4) == 4);
  // hosts, a(a-1)/2 a group, one for each of g(g-1)/2 pairs
  const auto fly = dragonfly({9, 4, 2, 1});
  CHECK(fly->links() == 2 * (72 + 9 * 6 + 36));
  CHECK(length(*fly, 0, 1) == 2);
  CHECK(length(*fly, 0, 2) == 3);
  // hosts, leaves x spines a group, 4 for each of 10 pairs
  const auto plus = dragonfly_plus({5, 3, 4, 2, 4});
  CHECK(plus->links() == 2 * (30 + 5 * 12 + 10 * 4));
  CHECK(length(*plus, 0, 2) == 4);
  CHECK(length(*plus, 0, 29) == 5);
  // one cable a node and dimension; steps add up over the dimensions
  const auto ring = torus({3, 4, 2});
  CHECK(ring->links() == 2 * 24 * 3);
  CHECK(length(*ring, 0, 23) == 1 + 1 + 1);
  CHECK(length(*ring, 0, 6) == 2);
  CHECK(ring->minimal_ways(0, 6) == 2);
}

TEST_CASE("NICs of a node hang where the rule says", "[unit][fabric]") {
  const auto leaf_of = [](const Fabric& fabric, int endpoint) {
    return fabric.vertex_name(fabric.link(2 * endpoint).to);
  };
  const auto rails = rail_optimized(2, 3, 4, 2, 4);
  for (int node = 0; node < 6; ++node)
    for (int nic = 0; nic < 4; ++nic)
      CHECK(leaf_of(*rails, 4 * node + nic) == "unit" + std::to_string(node / 3) + "/rail" + std::to_string(nic));
  // 4 ports, 2 NICs of a node at a switch: 2 nodes share 2 switches
  const auto fly = dragonfly({4, 4, 4, 2, 4, 2});
  CHECK(leaf_of(*fly, 0) == "group0/switch0");
  CHECK(leaf_of(*fly, 3) == "group0/switch1");
  CHECK(leaf_of(*fly, 4) == "group0/switch0");
  CHECK(leaf_of(*fly, 8) == "group0/switch2");
  CHECK(leaf_of(*fly, 16) == "group1/switch0");
}

TEST_CASE("pairs are numbered one by one and found again", "[unit][fabric]") {
  for (const int size : {1, 2, 3, 32, 1001}) {
    const fabrics::PairNumbers pairs(size);
    int number = 0;
    for (int i = 0; i < size; ++i)
      for (int j = i + 1; j < size; ++j, ++number) {
        REQUIRE(pairs.number(i, j) == number);
        REQUIRE(pairs.number(j, i) == number);
        REQUIRE(pairs.ends(number) == std::pair(i, j));
      }
    CHECK(pairs.pairs() == number);
  }
  // the largest that links can be numbered for: 32,000 groups have 511,984,000 pairs
  const fabrics::PairNumbers many(32000);
  CHECK(many.ends(many.pairs() - 1) == std::pair(31998, 31999));
  CHECK(many.ends(many.number(12345, 23456)) == std::pair(12345, 23456));
}

}  // namespace linkcast::test::fabric_test
