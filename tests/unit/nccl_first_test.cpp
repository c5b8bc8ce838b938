// The ring of nccl-1 on shipped topologies, and what nothing measured is believed of it.
#include <algorithm>
#include <map>

#include "sim/machine/library.hpp"
#include "sim/machine/platform.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::nccl_first_test {

namespace {

const Platform& platform(const std::string& name) {
  static std::map<std::string, Platform> loaded;
  const auto it = loaded.find(name);
  if (it != loaded.end()) return it->second;
  Calibration calibration;
  calibration.topology = name;
  return loaded.emplace(name, Platform{read_topology(test::data_dir() + "/topologies/" + name + ".json"), calibration})
      .first->second;
}

const RingLibrary& library() { return ring_library("nccl-1"); }

/// Hops through host memory, "from->to".
std::vector<std::string> host_hops(const Communicator& communicator) {
  std::vector<std::string> hops;
  for (const Hop& hop : communicator.channels.front().hops)
    if (hop.kind == HopKind::kHostMemory) hops.push_back(std::to_string(hop.from) + "->" + std::to_string(hop.to));
  return hops;
}

}  // namespace

TEST_CASE("nccl-1: one ring of one block in the order given", "[unit]") {
  const std::vector<int> gpus = GENERATE(std::vector<int>{0, 1}, std::vector<int>{3, 0, 2, 1},
                                         std::vector<int>{7, 6, 5, 4, 3, 2, 1, 0}, std::vector<int>{0, 5, 1});
  const Communicator made = library().build(platform("p100-dgx1"), gpus);
  REQUIRE(made.channels.size() == 1);
  const Channel& ring = made.channels.front();
  CHECK(ring.order == gpus);
  CHECK(ring.blocks == 1);
  CHECK(made.trees.empty());
  REQUIRE(ring.hops.size() == gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    CHECK(ring.hops[i].from == gpus[i]);
    CHECK(ring.hops[i].to == gpus[(i + 1) % gpus.size()]);
    const Platform& dgx1 = platform("p100-dgx1");
    const bool nvlink = dgx1.topology().direct_links(dgx1.gpu(ring.hops[i].from), dgx1.gpu(ring.hops[i].to)) > 0;
    CHECK((ring.hops[i].kind == HopKind::kPeer) == nvlink);
  }
}

TEST_CASE("nccl-1: hops without peer access go through host memory", "[unit]") {
  // By the wiring of a DGX-1: quads 0-3 and 4-7, each fully joined, and one cable from n to n + 4.
  const Communicator quad = library().build(platform("p100-dgx1"), {0, 1, 2, 3});
  CHECK(quad.path_class == "NVL");
  CHECK(quad.link_equivalents == 1);
  CHECK_FALSE(quad.fallback);
  CHECK(quad.why == "one ring in rank order, every hop by peer access");

  const Communicator five = library().build(platform("p100-dgx1"), {0, 1, 2, 3, 4});
  CHECK(host_hops(five) == std::vector<std::string>{"3->4"});
  CHECK(five.path_class == "SYS");
  CHECK(five.link_equivalents == 0);
  CHECK(five.fallback);
  CHECK(five.why == "one ring in rank order, hop 3->4 through host memory");

  CHECK(host_hops(library().build(platform("p100-dgx1"), {0, 1, 2, 3, 4, 5, 6, 7})) ==
        std::vector<std::string>{"3->4", "7->0"});
  // A closed ring over NVLink that rank order does not find: 0 1 2 3 7 5 6 4.
  CHECK_FALSE(library().build(platform("p100-dgx1"), {0, 1, 2, 3, 7, 5, 6, 4}).fallback);
}

TEST_CASE("nccl-1: PCIe peers without NVLink", "[unit]") {
  const Communicator one_socket = library().build(platform("gx8"), {0, 1});
  CHECK(host_hops(one_socket).empty());
  CHECK(one_socket.link_equivalents == 0);
  CHECK_FALSE(one_socket.fallback);
}

TEST_CASE("nccl-1: Simple alone, on one node", "[unit]") {
  const Platform& dgx1 = platform("p100-dgx1");
  const Communicator pair = library().build(dgx1, {0, 1});
  for (const double size_B : {8.0, 1e9})
    CHECK(library().protocol(dgx1, pair, "broadcast", {size_B}, "").protocol == "Simple");
  CHECK_THROWS_WITH(library().protocol(dgx1, pair, "all_reduce", {8}, "LL"), "protocol 'LL': nccl-1 has Simple alone");
  CHECK_THROWS_AS(library().protocol(dgx1, pair, "alltoall", {8}, ""), InputError);
  CHECK_FALSE(library().spans_nodes());
  CHECK_THROWS_WITH(library().build(dgx1, {0, 0}), "gpus: GPU 0 is given twice");
}

TEST_CASE("nccl-1: believed until measured", "[unit]") {
  // Latencies of the oldest table (SOURCES.md): base 8.4, hop 5.7 us.
  CHECK_THAT(library().base_latency("Simple").si, WithinRel(8.4e-6, 1e-12));
  CHECK_THAT(library().hop_latency("Simple", "SYS").si, WithinRel(5.7e-6, 1e-12));
  const Platform& dgx1 = platform("p100-dgx1");
  const Communicator pair = library().build(dgx1, {0, 1});
  CHECK(library().block_rate(dgx1, pair, "Simple").has_value());
  CHECK(library().host_wait().has_value());
  CHECK(library().keeps_step());
  CHECK_FALSE(library().groups_calls());
  CHECK_FALSE(ring_library("nccl-2.7").keeps_step());
}

}  // namespace linkcast::test::nccl_first_test
