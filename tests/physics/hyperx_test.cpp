// HyperX against closed forms: cables, load of every link, average way; and what it refuses.
#include <numeric>

#include "sim/machine/fabric_facts.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fabric_examples.hpp"

using namespace linkcast;
using namespace linkcast::test;

namespace {

std::string error_of(const std::string& parameters, int nics = 1) {
  try {
    build_fabric("hyperx", parameters, {"host", "hyperx"}, nics);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("hyperx: cables and loads are the closed forms", "[physics][fabric]") {
  // Ahn et al., SC09, section 2: N switches, all to all along each dimension of S_k: N (S_k - 1) / 2 cables each.
  // Dimension after dimension, a link along k is crossed by sources that are anything before k and targets that are
  // anything behind k: N / S_k pairs of switches, p^2 pairs of endpoints each.
  const std::vector<std::pair<std::vector<int>, int>> cases = {{{4}, 2}, {{4, 3}, 2}, {{2, 3, 4}, 3}, {{5, 5}, 1}};
  for (const auto& [sizes, p] : cases) {
    const auto fabric = hyperx(sizes, p);
    const int switches = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies{});
    int ports = 0;
    for (const int size : sizes) ports += size - 1;
    REQUIRE(fabric->switches() == switches);
    REQUIRE(fabric->links() == 2 * switches * p + switches * ports);
    std::vector<double> load(static_cast<std::size_t>(fabric->links()));
    double length = 0;
    std::vector<int> way;
    for (int from = 0; from < fabric->endpoints(); ++from)
      for (int to = 0; to < fabric->endpoints(); ++to) {
        if (from == to) continue;
        REQUIRE(fabric->minimal_ways(from, to) == 1);
        way.clear();
        fabric->minimal_way(from, to, 0, way);
        for (std::size_t i = 0; i + 1 < way.size(); ++i)
          REQUIRE(fabric->link(way[i]).to == fabric->link(way[i + 1]).from);
        REQUIRE(fabric->link(way.front()).from == from);
        REQUIRE(fabric->link(way.back()).to == to);
        for (const int link : way) ++load[static_cast<std::size_t>(link)];
        length += static_cast<double>(way.size());
      }
    int link = 2 * switches * p;
    for (const int size : sizes)
      for (int i = 0; i < switches * (size - 1); ++i, ++link) {
        const FabricLink one = fabric->link(link), back = fabric->link(link ^ 1);
        REQUIRE(one.from == back.to);
        REQUIRE(one.to == back.from);
        REQUIRE(load[static_cast<std::size_t>(link)] == p * p * switches / size);
      }
    // Ends that agree in a coordinate (1 of S_k) skip that dimension; two cables of hosts are always crossed.
    const double endpoints = switches * p;
    double expected = 2 * (endpoints - 1);
    for (const int size : sizes) expected += endpoints * (size - 1) / size;
    CHECK_THAT(length / endpoints, WithinRel(expected, 1e-12));
    CHECK_THAT(bounds::fabric_facts(*fabric, 1).average_links, WithinRel(expected / (endpoints - 1), 1e-12));
  }
}

TEST_CASE("refused: hyperx", "[physics][fabric]") {
  const std::string rest = R"(, "switches_per_node": 1, "endpoints_per_switch": 2, "radix": 7)";
  CHECK(error_of(R"("nodes": 24, "dimensions": [4, 3])" + rest).empty());
  CHECK(error_of(R"("nodes": 24, "dimensions": [])" + rest) ==
        "test:/fabric/dimensions: a hyperx needs at least one dimension");
  CHECK(error_of(R"("nodes": 24, "dimensions": [4, 1])" + rest) ==
        "test:/fabric/dimensions: a dimension of 1 joins nothing: at least 2");
  CHECK(error_of(R"("nodes": 24, "dimensions": [100000, 100000])" + rest).find("/fabric/dimensions: too large") !=
        std::string::npos);
  CHECK(error_of(R"("nodes": 24, "dimensions": [4, 4])" + rest) ==
        "test:/fabric/radix: 7 ports are too few: 2 to endpoints and 6 to other switches");
  CHECK(error_of(R"("nodes": 25, "dimensions": [4, 3])" + rest).find("/fabric/nodes: 25 nodes do not fit") !=
        std::string::npos);
}
