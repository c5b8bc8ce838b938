// The regions of aws-ofi-nccl's tuner, against evaluations of its polygons by others.
#include "models/libraries/graph/plugin_regions.hpp"

#include <cmath>

#include "tests/support/catch.hpp"

namespace linkcast::test::plugin_regions_test {

namespace {

constexpr double kKi = 1024, kMi = 1024 * kKi, kGi = 1024 * kMi;

std::string choice(const char* tuner, const char* op, int per_node, int ranks, double bytes) {
  const auto regions = graph::plugin_regions_at(tuner, op, per_node, bytes, ranks);
  if (regions.empty()) return "";
  return std::string(regions.front()->algorithm) + " " + std::string(regions.front()->protocol);
}

/// A choice, and the size from which on it holds.
struct From {
  double bytes;
  const char* choice;
};
struct Row {
  const char *tuner, *op;
  int per_node, ranks;
  std::vector<From> choices;
};

// source: aws/aws-ofi-nccl, snapshot of 2026-08-21, its polygons evaluated by another program; rounded to 2 %
const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"p5en",
       "all_reduce",
       8,
       64,
       {{1, "tree LL"},
        {192 * kKi, "tree LL128"},
        {58 * kMi, "ring LL128"},
        {562 * kMi, "nvls_tree Simple"},
        {1.18 * kGi, "ring Simple"}}},
      {"p5en",
       "all_reduce",
       8,
       256,
       {{1, "tree LL"}, {192 * kKi, "tree LL128"}, {147 * kMi, "nvls_tree Simple"}, {7 * kGi, "ring Simple"}}},
      {"p5en", "all_gather", 8, 64, {{1, "ring LL"}, {2.5 * kMi, "ring LL128"}, {912 * kMi, "ring Simple"}}},
      {"p5",
       "all_reduce",
       8,
       128,
       {{1, "tree LL128"}, {288 * kMi, "ring LL128"}, {2 * kGi, "nvls_tree Simple"}, {6 * kGi, "ring Simple"}}},
      {"p5",
       "all_reduce",
       8,
       256,
       {{1, "tree LL128"},
        {288 * kMi, "nvls_tree Simple"},
        {kGi, "ring LL128"},
        {2 * kGi, "nvls_tree Simple"},
        {12 * kGi, "ring Simple"}}},
      {"p6_b200",
       "all_reduce",
       8,
       64,
       {{1, "tree LL"},
        {384 * kKi, "tree LL128"},
        {38.5 * kMi, "nvls_tree Simple"},
        {48.5 * kMi, "ring LL128"},
        {114.5 * kMi, "nvls_tree Simple"},
        {1023 * kMi, "ring Simple"}}},
      {"p6_b300",
       "all_reduce",
       8,
       128,
       {{1, "tree LL"},
        {416 * kKi, "tree LL128"},
        {120 * kMi, "nvls_tree Simple"},
        {352 * kMi, "ring LL128"},
        {960 * kMi, "nvls_tree Simple"},
        {3.75 * kGi, "ring Simple"}}},
      {"p5en",
       "all_reduce",
       1,
       16,
       {{1, "tree LL"}, {64 * kKi, "tree LL128"}, {16 * kMi, "ring LL128"}, {48 * kMi, "ring Simple"}}}};
  return all;
}

}  // namespace

TEST_CASE("regions: the choice changes where the plug-in's polygons do", "[plugin]") {
  constexpr double kRounded = 0.02;
  for (const Row& row : rows())
    for (std::size_t i = 0; i < row.choices.size(); ++i) {
      INFO(row.tuner << " " << row.op << " of " << row.ranks << ", from " << row.choices[i].bytes);
      const double first = row.choices[i].bytes * (1 + kRounded);
      const double last =
          i + 1 < row.choices.size() ? row.choices[i + 1].bytes * (1 - kRounded) : std::min(4 * first, 99 * kGi);
      for (const double bytes : {first, std::sqrt(first * last), last})
        CHECK(choice(row.tuner, row.op, row.per_node, row.ranks, bytes) == row.choices[i].choice);
    }
}

TEST_CASE("regions: holes between polygons, other shapes of nodes and other operations are NCCL's", "[plugin]") {
  for (const auto& [ranks, bytes] :
       {std::pair{32, 1.45 * kGi}, {64, 2.25 * kGi}, {160, 293 * kMi}, {64, 101 * kGi}, {8, kMi}})
    CHECK(choice("p5", "all_reduce", 8, ranks, bytes).empty());
  CHECK(choice("p5en", "all_reduce", 4, 64, kMi).empty());
  CHECK(choice("p5en", "all_reduce", 2, 64, kMi).empty());
  CHECK_FALSE(choice("p5", "all_reduce", 2, 64, kMi).empty());
  CHECK(choice("p5en", "broadcast", 8, 64, kMi).empty());
  CHECK(choice("p5", "all_gather", 8, 64, kMi).empty());
  CHECK(choice("unknown", "all_reduce", 8, 64, kMi).empty());
}

TEST_CASE("regions: every table is read, and has a choice for a small call", "[plugin]") {
  for (const graph::PluginTable& table : graph::plugin_tables())
    for (const double bytes : {1.0, 1e6, 1e8, 1e10}) {
      INFO(table.tuner << " " << table.operation << " " << table.ranks_per_node << " of " << bytes);
      const bool parts_of_p5 = table.tuner == "p5" && table.operation != "all_reduce";
      if (!parts_of_p5 || bytes > 1e9)
        CHECK_FALSE(graph::plugin_regions_at(table.tuner, table.operation, table.ranks_per_node, bytes,
                                             64 * table.ranks_per_node)
                        .empty());
    }
}

}  // namespace linkcast::test::plugin_regions_test
