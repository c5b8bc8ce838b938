// Rings and protocol of nccl-2.3 on the shipped topologies, and the arithmetic of the ring collectives.
#include <algorithm>
#include <map>
#include <set>

#include "sim/machine/collective.hpp"
#include "sim/machine/library.hpp"
#include "sim/machine/platform.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::nccl_matrix_test {

namespace {

constexpr double kFallback = 0;  // link-equivalents of a communicator without NVLink rings

Platform load(const std::string& name) {
  Calibration calibration;  // rings follow from structure: nothing fitted is needed
  calibration.topology = name;
  return {read_topology(test::data_dir() + "/topologies/" + name + ".json"), calibration};
}

const Platform& platform(const std::string& name) {
  static std::map<std::string, Platform> loaded;
  const auto it = loaded.find(name);
  return it != loaded.end() ? it->second : loaded.emplace(name, load(name)).first->second;
}

const RingLibrary& library() { return ring_library("nccl-2.3"); }

std::vector<int> first(int count) {
  std::vector<int> gpus;
  for (int gpu = 0; gpu < count; ++gpu) gpus.push_back(gpu);
  return gpus;
}

Communicator build(const std::string& name, const std::vector<int>& gpus) {
  return library().build(platform(name), gpus);
}

/// All sets of at least `least` and at most `most` of 8 GPUs.
std::vector<std::vector<int>> subsets(int least, int most) {
  std::vector<std::vector<int>> found;
  for (unsigned mask = 0; mask < 256; ++mask) {
    std::vector<int> gpus;
    for (int gpu = 0; gpu < 8; ++gpu)
      if ((mask >> gpu) & 1U) gpus.push_back(gpu);
    if (static_cast<int>(gpus.size()) >= least && static_cast<int>(gpus.size()) <= most) found.push_back(gpus);
  }
  return found;
}

std::multiset<std::vector<int>> orders(const Communicator& communicator) {
  std::multiset<std::vector<int>> found;
  for (const Channel& channel : communicator.channels) found.insert(channel.order);
  return found;
}

/// Links given out per directed GPU pair.
std::map<std::pair<int, int>, double> links_used(const std::vector<Channel>& channels) {
  std::map<std::pair<int, int>, double> used;
  for (const Channel& channel : channels)
    for (const Hop& hop : channel.hops) used[{hop.from, hop.to}] += channel.links;
  return used;
}

void check_channel(const Communicator& communicator, const Channel& channel) {
  CHECK(std::set<int>(channel.order.begin(), channel.order.end()) ==
        std::set<int>(communicator.gpus.begin(), communicator.gpus.end()));
  CHECK(channel.order.size() == communicator.gpus.size());
  CHECK(channel.order.front() == communicator.gpus.front());
  REQUIRE(channel.hops.size() == channel.order.size());
  for (std::size_t i = 0; i < channel.hops.size(); ++i) {
    CHECK(channel.hops[i].from == channel.order[i]);
    CHECK(channel.hops[i].to == channel.order[(i + 1) % channel.order.size()]);
  }
}

struct Row {
  std::string machine;
  std::vector<double> link_equivalents;  // of the first 2, 3, ... GPUs
};

}  // namespace

TEST_CASE("link-equivalents of the first k GPUs", "[unit]") {
  // Expected: models/libraries/SOURCES.md (the P100 row was also measured).
  const auto row =
      GENERATE(Row{"p100-dgx1", {1, 2, 3, kFallback, 2, 2, 4}}, Row{"v100-dgx1", {1, 2, 4, kFallback, 2, 4, 6}},
               Row{"summit", {2, 4, kFallback, kFallback, kFallback}}, Row{"summitdev", {2, kFallback, kFallback}});
  for (int count = 2; count < static_cast<int>(row.link_equivalents.size()) + 2; ++count) {
    const Communicator communicator = build(row.machine, first(count));
    INFO(row.machine << ", " << count << " GPUs: " << communicator.why);
    const double expected = row.link_equivalents[static_cast<std::size_t>(count - 2)];
    CHECK(communicator.link_equivalents == expected);
    CHECK(communicator.fallback == (expected == kFallback));
    CHECK(communicator.path_class == (expected == kFallback ? "SYS" : "NVL"));
  }
}

TEST_CASE("P100 quad: six rings of half a link", "[unit]") {
  // Expected: models/libraries/SOURCES.md.
  const Communicator quad = build("p100-dgx1", {0, 1, 2, 3});
  REQUIRE(quad.channels.size() == 6);
  for (const Channel& channel : quad.channels) {
    CHECK(channel.links == 0.5);
    CHECK(channel.blocks == 2);
  }
}

TEST_CASE("rings of all 8 P100", "[unit]") {
  // Expected: models/libraries/SOURCES.md, "the same four rings in every version from 2.3.7 to 2.30".
  CHECK(orders(build("p100-dgx1", first(8))) ==
        std::multiset<std::vector<int>>{
            {0, 1, 2, 3, 7, 5, 6, 4}, {0, 2, 6, 7, 4, 5, 1, 3}, {0, 3, 1, 5, 4, 7, 6, 2}, {0, 4, 6, 5, 7, 3, 2, 1}});
}

TEST_CASE("rings of all 8 V100 load every link as the published ones do", "[unit]") {
  // Published for 2.7-2.30 only (section 8), whose search prefers wide pairs; the matrix era goes in index order and
  // finds other orders. Both give six rings and leave no link of the machine over.
  const std::vector<std::vector<int>> published = {{0, 3, 2, 1, 5, 6, 7, 4}, {0, 3, 2, 1, 5, 6, 7, 4},
                                                   {0, 4, 7, 6, 5, 1, 2, 3}, {0, 4, 7, 6, 5, 1, 2, 3},
                                                   {0, 1, 3, 7, 5, 4, 6, 2}, {0, 2, 6, 4, 5, 7, 3, 1}};
  std::vector<Channel> channels;
  for (const auto& order : published) {
    channels.push_back({order, {}, 1, 2});
    for (std::size_t i = 0; i < order.size(); ++i)
      channels.back().hops.push_back({order[i], order[(i + 1) % order.size()], HopKind::kPeer});
  }
  CHECK(links_used(build("v100-dgx1", first(8)).channels) == links_used(channels));
}

TEST_CASE("four of eight GPUs: 62 of 70 sets fall back", "[unit]") {
  // Expected: models/libraries/SOURCES.md, "4-GPU subsets in 2.3.7".
  const auto [machine, of_quad] = GENERATE(table<std::string, double>({{"p100-dgx1", 3}, {"v100-dgx1", 4}}));
  const std::set<std::vector<int>> quads = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  const std::set<std::vector<int>> squares = {{0, 1, 4, 5}, {0, 2, 4, 6}, {0, 3, 4, 7},
                                              {1, 2, 5, 6}, {1, 3, 5, 7}, {2, 3, 6, 7}};
  int fallbacks = 0;
  for (const auto& gpus : subsets(4, 4)) {
    const Communicator communicator = build(machine, gpus);
    INFO(machine << ": " << communicator.why);
    fallbacks += communicator.fallback;
    CHECK(communicator.link_equivalents == (quads.count(gpus) ? of_quad : squares.count(gpus) ? 2 : kFallback));
  }
  CHECK(fallbacks == 62);
}

TEST_CASE("every set: each GPU once, no link over budget, fallback whole", "[unit]") {
  const std::string machine = GENERATE("p100-dgx1", "v100-dgx1");
  const Platform& dgx1 = platform(machine);
  const auto sets = subsets(2, 8);
  REQUIRE(sets.size() == 247);
  for (const auto& gpus : sets) {
    const Communicator communicator = library().build(dgx1, gpus);
    INFO(machine << ": " << communicator.why);
    CHECK(communicator.gpus == gpus);
    CHECK_FALSE(communicator.why.empty());
    CHECK(communicator.library_channel_bandwidth.si == 0);
    double links = 0;
    for (const Channel& channel : communicator.channels) {
      check_channel(communicator, channel);
      links += channel.links;
      CHECK(channel.blocks == (communicator.fallback ? 1 : 2));
      for (const auto& hop : channel.hops)
        CHECK((hop.kind == HopKind::kPeer) == dgx1.peer_route(dgx1.gpu(hop.from), dgx1.gpu(hop.to)).has_value());
    }
    CHECK(communicator.link_equivalents == links);
    if (communicator.fallback) CHECK(communicator.channels.size() == 1);
    for (const auto& [pair, used] : links_used(communicator.channels))
      CHECK(used <= dgx1.topology().direct_links(dgx1.gpu(pair.first), dgx1.gpu(pair.second)));
  }
}

TEST_CASE("five GPUs of a DGX-1: why, and which hop leaves the peers", "[unit]") {
  const Communicator five = build("p100-dgx1", first(5));
  CHECK(five.why ==
        "GPU 4 has NVLink only to GPU 0 inside this set, so no closed NVLink ring exists; one ring in rank order, "
        "hop 3->4 through host memory");
  CHECK(five.channels.front().order == first(5));
  CHECK(five.channels.front().hops[3].kind == HopKind::kHostMemory);
  CHECK(five.channels.front().hops[4].kind == HopKind::kPeer);
  CHECK(build("p100-dgx1", {0, 5}).why ==
        "no peer access joins GPU 0 and GPU 5, so no closed NVLink ring exists; one ring through one set after the "
        "other, hops 0->5 and 5->0 through host memory");
}

TEST_CASE("the first member starts every ring, neighbours in rank order", "[unit]") {
  const Communicator turned = build("p100-dgx1", {7, 6, 5, 4, 3, 2, 1, 0});
  CHECK(turned.link_equivalents == 4);
  for (const Channel& channel : turned.channels) check_channel(turned, channel);
}

TEST_CASE("DGX-2: six rings in rank order for any number of GPUs", "[unit]") {
  // Expected: models/libraries/SOURCES.md.
  const int count = GENERATE(range(2, 17));
  const Communicator communicator = build("dgx2", first(count));
  CHECK(communicator.link_equivalents == 6);
  CHECK(communicator.path_class == "NVL");
  REQUIRE(communicator.channels.size() == 6);
  for (const Channel& channel : communicator.channels) {
    CHECK(channel.order == first(count));
    CHECK(channel.blocks == 2);
  }
}

TEST_CASE("without NVLink: one ring, nearest neighbour first, sockets joined by host memory", "[unit]") {
  // Expected: models/libraries/SOURCES.md, PCIe; the switches of the machine hold GPUs 0 1, 2 3, 4 5 and 6 7.
  Topology topology = platform("p100-dgx1").topology();
  std::erase_if(topology.cables, [](const auto& cable) { return is_accelerator_cable(cable.kind); });
  Calibration calibration;
  calibration.topology = topology.name;
  const Platform pcie(topology, calibration);

  const Communicator pair = library().build(pcie, {0, 1});
  CHECK(pair.path_class == "PIX");
  const Communicator socket = library().build(pcie, {0, 2, 1, 3});
  CHECK(socket.path_class == "PHB");
  CHECK_FALSE(socket.fallback);
  REQUIRE(socket.channels.size() == 1);
  CHECK(socket.channels.front().order == first(4));
  CHECK(socket.channels.front().blocks == 1);
  CHECK(socket.link_equivalents == kFallback);

  const Communicator all = library().build(pcie, first(8));
  CHECK(all.fallback);
  CHECK(all.path_class == "SYS");
  REQUIRE(all.channels.size() == 1);
  for (const auto& hop : all.channels.front().hops)
    CHECK((hop.kind == HopKind::kHostMemory) == (hop.from == 3 || hop.from == 7));
}

TEST_CASE("building twice gives the same", "[unit]") {
  const Communicator one = build("v100-dgx1", first(8)), two = build("v100-dgx1", first(8));
  CHECK(orders(one) == orders(two));
  CHECK(one.channels.front().order == two.channels.front().order);
  CHECK(one.why == two.why);
}

TEST_CASE("members must exist, differ and be two", "[unit]") {
  CHECK_THROWS_WITH(build("p100-dgx1", {3}), "gpus: a communicator needs at least 2");
  CHECK_THROWS_WITH(build("p100-dgx1", {0, 8}), "gpus: no GPU 8: 0 to 7 exist");
  CHECK_THROWS_WITH(build("p100-dgx1", {1, 2, 1}), "gpus: GPU 1 is given twice");
}

TEST_CASE("LL up to ranks x rings x threads x bytes a thread", "[unit]") {
  // Expected: models/libraries/SOURCES.md. Rings with their duplicates; Pascal with NVLink has 128 threads.
  struct Limit {
    std::string machine;
    int gpus;
    double bytes;
  };
  const auto limit = GENERATE(Limit{"p100-dgx1", 8, 8.0 * 8 * 128 * 32}, Limit{"p100-dgx1", 4, 4.0 * 12 * 128 * 32},
                              Limit{"p100-dgx1", 5, 5.0 * 1 * 256 * 32}, Limit{"v100-dgx1", 8, 8.0 * 12 * 256 * 64},
                              Limit{"dgx2", 16, 16.0 * 12 * 256 * 64});
  const Communicator communicator = build(limit.machine, first(limit.gpus));
  const auto choice = [&](double bytes, const std::string& forced) {
    return library().protocol(platform(limit.machine), communicator, "all_reduce", {bytes}, forced);
  };
  CHECK(choice(limit.bytes, "").protocol == "LL");
  CHECK(choice(limit.bytes, "").payload_share == 0.5);
  CHECK(choice(limit.bytes + 1, "").protocol == "Simple");
  CHECK(choice(limit.bytes + 1, "").payload_share == 1);
  CHECK(choice(4, "Simple").protocol == "Simple");
  CHECK(choice(1e9, "LL").protocol == "LL");
  CHECK_THROWS_WITH(choice(4, "LL128"), "protocol 'LL128': nccl-2.3 has LL, Simple");
}

TEST_CASE("latencies", "[unit]") {
  // Expected: models/libraries/SOURCES.md: base [3.6, -, 8.4], nvlink [0.4, -, 5.7], pci [1.0, -, 5.7] us.
  CHECK_THAT(library().base_latency("LL").si, WithinRel(3.6e-6, 1e-12));
  CHECK_THAT(library().base_latency("Simple").si, WithinRel(8.4e-6, 1e-12));
  CHECK_THAT(library().hop_latency("LL", "NVL").si, WithinRel(0.4e-6, 1e-12));
  CHECK_THAT(library().hop_latency("LL", "SYS").si, WithinRel(1.0e-6, 1e-12));
  CHECK_THAT(library().hop_latency("Simple", "NVL").si, WithinRel(5.7e-6, 1e-12));
  CHECK_THAT(library().hop_latency("Simple", "PIX").si, WithinRel(5.7e-6, 1e-12));
  CHECK_THROWS_AS(library().base_latency("LL128"), InputError);
}

TEST_CASE("ring collectives: bytes, steps, bus factor", "[unit]") {
  // Expected: NVIDIA/nccl-tests doc/PERFORMANCE.md, for 4 ranks.
  struct Expected {
    std::string name;
    double share;
    int steps;
    bool closed;
    double bus_factor;
  };
  const auto row = GENERATE(Expected{"all_reduce", 1.5, 6, true, 1.5}, Expected{"all_gather", 0.75, 3, true, 0.75},
                            Expected{"reduce_scatter", 0.75, 3, true, 0.75}, Expected{"broadcast", 1, 3, false, 1},
                            Expected{"reduce", 1, 3, false, 1});
  const Collective& collective = collectives().get(row.name);
  CHECK_THAT(collective.bytes_per_hop({4096}, 4).si, WithinRel(4096 * row.share, 1e-12));
  CHECK(collective.steps(4) == row.steps);
  CHECK(collective.closed() == row.closed);
  CHECK_THAT(collective.bus_factor(4), WithinRel(row.bus_factor, 1e-12));
}

}  // namespace linkcast::test::nccl_matrix_test
