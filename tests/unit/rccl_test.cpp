// RCCL's presets, channels and choices. Expected: models/libraries/SOURCES.md, "RCCL", and the sizes from which on its
// own tuner takes another algorithm or protocol (evaluated in ROCm/rccl of October 2024, powers of two).
#include <cmath>
#include <map>
#include <set>

#include "sim/machine/library.hpp"
#include "sim/machine/library_name.hpp"
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::rccl_test {
namespace {

Communicator built(const std::string& platform, const std::string& library, int nodes,
                   std::vector<int> gpus = {0, 1, 2, 3, 4, 5, 6, 7}) {
  const auto machine = catalogue().machine(platform);
  return *machine->communicator(library, gpus, nodes);
}

std::string row(const std::string& platform, const std::string& library, int nodes, const std::string& op,
                double size_B) {
  const Communicator communicator = built(platform, library, nodes);
  const Platform& node = catalogue().machine(platform)->platform();
  const auto choice = ring_library(library).choose(node, communicator, {op, {size_B}, "", ""});
  return choice->entry.algorithm + " " + choice->entry.protocol;
}

/// "tree LL; tree Simple 512K": each choice from its first size on, among powers of two from 64 B to 8 GiB.
std::string choices(const std::string& platform, const std::string& library, int nodes, const std::string& op) {
  std::string text, last;
  constexpr int kFirst = 6, kLast = 33;
  for (int power = kFirst; power <= kLast; ++power) {
    const std::string now = row(platform, library, nodes, op, std::ldexp(1.0, power));
    if (now == last) continue;
    const int unit = power / 10;
    text += (text.empty() ? "" : "; ") + now;
    if (!last.empty()) text += " " + std::to_string(1 << (power % 10)) + std::string(" KMG").substr(unit, 1);
    last = now;
  }
  return text;
}

int blocks(const Communicator& communicator) {
  int sum = 0;
  for (const Channel& ring : communicator.channels) sum += ring.blocks;
  return sum;
}

/// Blocks on each directed pair of neighbours inside a node.
std::map<std::pair<int, int>, int> loads(const Communicator& communicator) {
  std::map<std::pair<int, int>, int> found;
  for (const Channel& ring : communicator.channels)
    for (const Hop& hop : ring.hops) found[{hop.from, hop.to}] += ring.blocks;
  return found;
}

}  // namespace

TEST_CASE("rccl chooses what its own tuner does, LUMI", "[unit][rccl]") {
  const auto lumi = [](int nodes, const std::string& op) { return choices("lumi", "rccl-2.21", nodes, op); };
  CHECK(lumi(1, "all_reduce") == "ring LL; tree Simple 256K; ring Simple 16M");
  CHECK(lumi(1, "all_gather") == "ring LL; ring Simple 512K");
  CHECK(lumi(2, "all_reduce") == "tree LL; tree Simple 512K");
  CHECK(lumi(2, "reduce_scatter") == "ring LL; ring Simple 4M");
  for (const int nodes : {4, 8}) {
    CHECK(lumi(nodes, "all_reduce") == "tree LL; tree Simple 2M; ring Simple 256M");
    CHECK(lumi(nodes, "all_gather") == "ring LL; ring Simple 8M");
  }
  for (const int nodes : {16, 32, 64}) {
    CHECK(lumi(nodes, "all_reduce") == "tree LL; tree Simple 2M; ring Simple 2G");
    CHECK(lumi(nodes, "all_gather") == "ring LL; ring Simple " + std::to_string(nodes) + "M");
  }
  CHECK(lumi(128, "all_reduce") == "tree LL; tree Simple 2M; ring Simple 4G");
}

TEST_CASE("rccl chooses what its own tuner does, MI300X of two releases", "[unit][rccl]") {
  const auto now = [](int nodes, const std::string& op) { return choices("mi300x", "rccl-2.21", nodes, op); };
  CHECK(now(1, "all_reduce") == "ring LL; all_pairs LL 1K; all_pairs Simple 1M; ring Simple 32M");
  CHECK(now(1, "all_gather") == "ring LL; ring Simple 512K");
  CHECK(now(2, "all_reduce") == "tree LL; tree Simple 4M; ring Simple 512M");
  CHECK(now(2, "all_gather") == "ring LL; ring Simple 4M");
  CHECK(now(4, "all_reduce") == "tree LL; tree Simple 2M; ring Simple 1G");
  CHECK(now(8, "all_reduce") == "tree LL; tree Simple 2M; ring Simple 2G");
  CHECK(now(8, "reduce_scatter") == "ring LL; ring Simple 16M");
  CHECK(now(16, "all_reduce") == "tree LL; tree Simple 2M; ring Simple 4G");
  CHECK(now(32, "all_gather") == "ring LL; ring Simple 32M");
  const auto before = [](int nodes, const std::string& op) { return choices("mi300x", "rccl-2.18", nodes, op); };
  CHECK(before(1, "all_gather") == "ring LL; ring Simple 8M");
  CHECK(before(2, "all_reduce") == "tree LL; tree Simple 2M; ring Simple 128M");
  CHECK(before(4, "all_reduce") == "tree LL; tree Simple 2M; ring Simple 128M");
  CHECK(before(8, "all_reduce") == "tree LL; tree Simple 2M; ring Simple 256M");
  CHECK(before(16, "all_reduce") == "tree LL; tree Simple 2M; ring Simple 1G");
  CHECK(before(16, "all_gather") == "ring LL; ring Simple 64M");
}

TEST_CASE("rccl from ROCm 7 on takes protocols by size between nodes", "[unit][rccl]") {
  const auto all_reduce = [](int nodes, double size_B) {
    return row("mi300x", "rccl-2.26", nodes, "all_reduce", size_B);
  };
  CHECK(all_reduce(2, 524288) == "tree LL");
  CHECK(all_reduce(2, 524289) == "tree LL128");
  CHECK(all_reduce(2, 4415057) == "tree LL128");
  CHECK(all_reduce(2, 4415058) == "tree Simple");
  CHECK(all_reduce(4, 16777216) == "tree LL128");  // 3.8 times as far
  CHECK(row("mi300x", "rccl-2.26", 2, "all_gather", 16.0 * 98304) == "ring LL");
  CHECK(row("mi300x", "rccl-2.26", 2, "all_gather", 16.0 * 98305) == "ring LL128");
  CHECK(row("mi300x", "rccl-2.26", 1, "reduce_scatter", 8.0 * 352128) == "ring LL");
  for (const char* rooted : {"broadcast", "reduce"}) {  // from ROCm 7.11 on; before it the cost model alone
    CHECK(row("mi350x", "rccl-2.28", 2, rooted, 16777216) == "ring LL128");
    CHECK(row("mi350x", "rccl-2.28", 2, rooted, 16777217) == "ring Simple");
    CHECK(row("mi350x", "rccl-2.26", 2, rooted, 16777216) == "ring Simple");
  }
  CHECK(row("mi300x", "rccl-2.28", 1, "all_reduce", 65536) == "ring LL");      // MSCCL is gone
  CHECK(row("lumi", "rccl-2.26", 2, "all_reduce", 1048576) == "tree Simple");  // no such rule for MI250X
}

TEST_CASE("rccl runs the rings of its presets", "[unit][rccl]") {
  const Communicator lumi = built("lumi", "rccl-2.21", 1);
  CHECK(lumi.channels.size() == 4);
  CHECK(blocks(lumi) == 16);
  CHECK_THAT(lumi.link_equivalents * 36, WithinRel(144.0, 1e-12));
  CHECK_THAT(lumi.library_channel_bandwidth.si * 4, WithinRel(252e9, 1e-12));
  CHECK(lumi.channels[0].order == std::vector<int>{0, 1, 3, 2, 4, 5, 7, 6});

  const Communicator mi300x = built("mi300x", "rccl-2.21", 1);
  CHECK(mi300x.channels.size() == 14);
  CHECK(blocks(mi300x) == 56);
  CHECK_THAT(mi300x.link_equivalents * 48, WithinRel(336.0, 1e-12));
  const auto load = loads(mi300x);
  CHECK(load.size() == 56);  // every link in each direction
  for (const auto& [pair, count] : load) CHECK(count == 8);

  const Communicator two = built("mi300x", "rccl-2.21", 2);
  CHECK(blocks(two) == 64);
  CHECK(two.swaps_rings);
  CHECK_FALSE(built("mi300x", "rccl-2.21", 3).swaps_rings);
  std::map<int, int> in, out;
  for (const Channel& ring : two.channels) {
    in[ring.in.nic] += ring.blocks;
    out[ring.out.nic] += ring.blocks;
  }
  CHECK(in.size() == 8);
  for (const auto& [nic, count] : in) CHECK(count == 8);
  CHECK(in == out);
  for (const auto& [pair, count] : loads(two)) CHECK(count == 8);
  for (std::size_t i = 0; i < two.channels.size(); i += 2) {  // the ring that runs in the other nodes
    const std::vector<int>& back = two.channels[i + 1].order;
    CHECK(two.channels[i].order == std::vector<int>(back.rbegin(), back.rend()));
  }
  const Communicator lumi_two = built("lumi", "rccl-2.21", 2);
  CHECK(blocks(lumi_two) == 16);
  std::set<int> nics;
  for (const Channel& ring : lumi_two.channels) nics.insert(ring.in.nic);
  CHECK(nics.size() == 4);
}

TEST_CASE("rccl searches part of a node by the widths of XGMI", "[unit][rccl]") {
  CHECK(blocks(built("mi300x", "rccl-2.21", 1, {0, 1})) == 32);
  CHECK(blocks(built("mi300x", "rccl-2.21", 1, {0, 1, 2, 3})) == 24);
  CHECK(built("lumi", "rccl-2.21", 1, {0, 1}).path_class == "XGMI");
  CHECK(built("lumi", "rccl-2.21", 1).message_channels == 2);
  CHECK(built("lumi", "rccl-2.21", 1, {0, 5}).message_channels == 2);
  CHECK(built("mi300x", "rccl-2.21", 1).message_channels == 8);
}

TEST_CASE("rccl and nccl run on the GPUs of their makers, and rccl has no NVLS", "[unit][rccl]") {
  const auto error = [](const Json& query) { return query::answer(catalogue(), query).value("error", ""); };
  const Json call = {{"kind", "collective"}, {"op", "all_reduce"}, {"size_B", 1048576}, {"gpus", {0, 1, 2, 3}}};
  Json query = call;
  query.update({{"platform", "lumi"}, {"library", "nccl-2.18"}});
  CHECK(error(query).find("nccl-2.18 runs on NVIDIA's GPUs, and those of lumi are AMD's: take rccl-2.15") !=
        std::string::npos);
  query = call;
  query.update({{"platform", "hgx-h100"}, {"library", "rccl-2.21"}});
  CHECK(error(query).find("rccl-2.21 runs on AMD's GPUs, and those of hgx-h100 are NVIDIA's: take nccl-2.18") !=
        std::string::npos);
  query = call;
  query.update({{"platform", "mi300x"}, {"algorithm", "nvls"}});
  CHECK(error(query).find("rccl-2.21 has no nvls for all_reduce here") != std::string::npos);
}

TEST_CASE("rccl is named as people have it", "[unit][rccl]") {
  CHECK(library_meant("RCCL 2.22.3+hip6.4") == "rccl-2.21");
  CHECK(library_meant("rccl-2.18.6") == "rccl-2.18");
  CHECK(library_meant("rccl-2.12") == "rccl-2.15");
  CHECK(library_meant("rccl") == "rccl-2.30");
  CHECK(library_meant("rccl-2.21").empty());
  CHECK(library_meant("nccl") == "nccl-2.30");
}

}  // namespace linkcast::test::rccl_test
