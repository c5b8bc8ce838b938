// The ring search as a pure function: known graphs, and a search without any cuts on random small ones.
#include <algorithm>
#include <numeric>
#include <random>

#include "models/libraries/ring_search.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::ring_packing_test {

namespace {

using Rings = std::vector<std::vector<int>>;

constexpr int kMaxRings = 16;
constexpr long kMaxSteps = 100'000;

LinkMatrix complete_graph(int members, int links) {
  LinkMatrix matrix(members);
  for (int a = 0; a < members; ++a)
    for (int b = 0; b < members; ++b)
      if (a != b) matrix.at(a, b) = links;
  return matrix;
}

struct Edge {
  int a, b, links;
};

LinkMatrix graph(int members, const std::vector<Edge>& edges) {
  LinkMatrix matrix(members);
  for (const Edge& edge : edges) matrix.at(edge.a, edge.b) = matrix.at(edge.b, edge.a) = edge.links;
  return matrix;
}

/// Links left after all rings; negative where one was used too often.
int fewest_left(LinkMatrix matrix, const Rings& rings) {
  int fewest = 0;
  for (const auto& ring : rings)
    for (std::size_t i = 0; i < ring.size(); ++i)
      fewest = std::min(fewest, --matrix.at(ring[i], ring[(i + 1) % ring.size()]));
  return fewest;
}

bool each_once(const Rings& rings, int members) {
  return std::all_of(rings.begin(), rings.end(), [&](std::vector<int> ring) {
    std::sort(ring.begin(), ring.end());
    std::vector<int> all(static_cast<std::size_t>(members));
    std::iota(all.begin(), all.end(), 0);
    return ring == all;
  });
}

/// The same search as its definition says it, without cuts: every order of every ring, the first longest list kept.
void pack_slowly(LinkMatrix& free, const Rings& orders, Rings& found, Rings& best) {
  if (found.size() > best.size()) best = found;
  for (const auto& order : orders) {
    bool fits = true;
    for (std::size_t i = 0; i < order.size(); ++i) fits &= --free.at(order[i], order[(i + 1) % order.size()]) >= 0;
    if (fits) {
      found.push_back(order);
      pack_slowly(free, orders, found, best);
      found.pop_back();
    }
    for (std::size_t i = 0; i < order.size(); ++i) ++free.at(order[i], order[(i + 1) % order.size()]);
  }
}

Rings every_order(int members) {
  std::vector<int> order(static_cast<std::size_t>(members));
  std::iota(order.begin(), order.end(), 0);
  Rings all;
  do all.push_back(order);
  while (std::next_permutation(order.begin() + 1, order.end()));
  return all;
}

}  // namespace

TEST_CASE("two members: a ring for each link", "[unit]") {
  const int links = GENERATE(1, 2, 6);
  const RingPacking packing = pack_rings_or_half_links(graph(2, {{0, 1, links}}), kMaxRings, kMaxSteps);
  CHECK(packing.rings == Rings(static_cast<std::size_t>(links), {0, 1}));
  CHECK(packing.links_per_ring == 1);
}

TEST_CASE("complete graph of four: two rings, or six of half a link", "[unit]") {
  // Expected: models/libraries/SOURCES.md (measured: 52.1 GB/s = 3 links of 17.37).
  const LinkMatrix four = complete_graph(4, 1);
  CHECK(pack_rings(four, kMaxRings, kMaxSteps).rings == Rings{{0, 1, 2, 3}, {0, 3, 2, 1}});
  const RingPacking half = pack_rings_or_half_links(four, kMaxRings, kMaxSteps);
  CHECK(half.rings.size() == 6);
  CHECK(half.links_per_ring == 0.5);
  CHECK(fewest_left(complete_graph(4, 2), half.rings) == 0);
}

TEST_CASE("half links are not taken for exactly twice the rings", "[unit]") {
  // A square and a triangle use up the links of a member; twice the links give twice the rings, not more.
  const LinkMatrix square = graph(4, {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 0, 1}});
  for (const LinkMatrix& matrix : {square, complete_graph(3, 1)}) {
    const RingPacking packing = pack_rings_or_half_links(matrix, kMaxRings, kMaxSteps);
    CHECK(packing.rings.size() == 2);
    CHECK(packing.links_per_ring == 1);
  }
}

TEST_CASE("half links are for four members at most", "[unit]") {
  // Six members: the complete directed graph has no decomposition into rings either (Tillson, JCTB 29, 1980).
  const RingPacking packing = pack_rings_or_half_links(complete_graph(6, 1), kMaxRings, kMaxSteps);
  CHECK(packing.rings.size() == 4);
  CHECK(packing.links_per_ring == 1);
}

TEST_CASE("complete graphs fill every link", "[unit]") {
  // n-1 disjoint rings exist for every n but 4 and 6: Tillson, JCTB 29, 1980.
  const int members = GENERATE(3, 5, 7, 8, 12, 16);
  const RingPacking packing = pack_rings(complete_graph(members, 1), kMaxRings, kMaxSteps);
  CHECK(static_cast<int>(packing.rings.size()) == members - 1);
  CHECK(fewest_left(complete_graph(members, 1), packing.rings) == 0);
  CHECK(each_once(packing.rings, members));
  CHECK(packing.complete);
}

TEST_CASE("no ring where a member hangs on one other, or on none", "[unit]") {
  const LinkMatrix tail = graph(4, {{0, 1, 1}, {1, 2, 1}, {2, 0, 1}, {3, 0, 2}});
  const LinkMatrix lone = graph(4, {{0, 1, 1}, {1, 2, 1}, {2, 0, 1}});
  for (const LinkMatrix& matrix : {tail, lone}) {
    const RingPacking packing = pack_rings_or_half_links(matrix, kMaxRings, kMaxSteps);
    CHECK(packing.rings.empty());
    CHECK(packing.complete);
  }
}

TEST_CASE("the bound is the fewest links into or out of a member", "[unit]") {
  LinkMatrix matrix = complete_graph(3, 2);
  CHECK(ring_bound(matrix) == 4);
  matrix.at(2, 0) = 0;
  matrix.at(2, 1) = 1;
  CHECK(ring_bound(matrix) == 1);
}

TEST_CASE("the search stops at the number of rings and of steps it is given", "[unit]") {
  CHECK(pack_rings(complete_graph(8, 6), kMaxRings, kMaxSteps).rings.size() == kMaxRings);
  const RingPacking cut = pack_rings(complete_graph(8, 1), kMaxRings, 20);
  CHECK_FALSE(cut.complete);
  CHECK(cut.steps == 20);
  CHECK(cut.rings.size() < 7);
  CHECK(fewest_left(complete_graph(8, 1), cut.rings) == 0);
}

TEST_CASE("the cuts of the search change nothing", "[unit]") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const int members = 2 + round % 4;
    LinkMatrix matrix(members);
    for (int a = 0; a < members; ++a)
      for (int b = 0; b < members; ++b)
        if (a != b) matrix.at(a, b) = static_cast<int>(random() % 3) * static_cast<int>(random() % 2);
    LinkMatrix free = matrix;
    Rings found, best;
    pack_slowly(free, every_order(members), found, best);
    INFO("round " << round << ", members " << members);
    CHECK(pack_rings(matrix, kMaxRings, kMaxSteps).rings == best);
  }
}

TEST_CASE("the search is deterministic", "[unit]") {
  const LinkMatrix matrix = complete_graph(7, 2);
  const RingPacking one = pack_rings(matrix, kMaxRings, kMaxSteps);
  const RingPacking two = pack_rings(matrix, kMaxRings, kMaxSteps);
  CHECK(one.rings == two.rings);
  CHECK(one.steps == two.steps);
}

}  // namespace linkcast::test::ring_packing_test
