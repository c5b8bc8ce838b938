// What most answers hide: communicators beside another one with their own sizes and calls, ends of rings between nodes,
// folds of ranks, what a rank keeps, start-ups made of steps; each where it alone decides.
#include <algorithm>
#include <limits>

#include "sim/forecast/algorithm.hpp"
#include "sim/forecast/host_path.hpp"
#include "sim/forecast/placed_collective.hpp"
#include "sim/machine/collective.hpp"
#include "sim/machine/library.hpp"
#include "sim/plan/channel_flows.hpp"
#include "sim/plan/cluster_message.hpp"
#include "sim/plan/inside_path.hpp"
#include "sim/plan/message_ways.hpp"
#include "sim/plan/mpi_costs.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fabric_examples.hpp"

namespace linkcast::test::hidden_choices_test {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Four GPUs of an HGX H200, devices alone.
double beside(Json query, Json other) {
  query.update({{"kind", "collective"}, {"platform", "hgx-h200"}, {"gpus", {0, 1, 2, 3}}, {"launch", "graph"}});
  other["gpus"] = {0, 1, 2, 3};
  query["with"] = Json::array({other});
  return time_of(query);
}

/// Bytes of a 4 x 4 alltoallv where one rank sends to one other.
Json one_sends(std::size_t from, std::size_t to, double bytes) {
  std::vector<std::vector<double>> sizes(4, std::vector<double>(4, 0));
  sizes[from][to] = bytes;
  return sizes;
}

Json rings(const std::string& platform, const Json& more = Json::object()) {
  Json query{{"kind", "rings"}, {"platform", platform}, {"nodes", 2}};
  query.update(more);
  return ask(query);
}

}  // namespace

TEST_CASE("a communicator beside is called as often as the first", "[physics][hidden]") {
  collective::PlacedCollective asked;
  asked.op = "all_reduce";
  asked.size_B = kMiB;
  for (const int calls : {1, 7}) {
    asked.calls = calls;
    CHECK(collective::place_job(*catalogue().machine("hgx-h200"), asked, {{0}, {0, 1}}).job.calls == calls);
  }
}

TEST_CASE("a communicator beside moves what its sizes say", "[physics][hidden]") {
  const double size = 256 * kMiB;
  const auto with = [&](std::size_t from, std::size_t to) {
    return beside({{"op", "alltoallv"}, {"sizes_B", one_sends(0, 1, size)}},
                  {{"op", "alltoallv"}, {"sizes_B", one_sends(from, to, size)}});
  };
  CHECK(with(0, 1) > 1.5 * with(2, 3));
}

TEST_CASE("a ring between nodes ends at its last GPU and the NIC there, trees at their own", "[physics][hidden]") {
  for (const std::string platform : {"p100-dgx1", "dgx-a100", "hgx-h100", "leonardo", "summit"}) {
    const Json found = rings(platform);
    const Cluster& cluster = catalogue().machine(platform)->cluster();
    INFO(platform << found["nics"].dump());
    for (std::size_t ring = 0; ring < found["channels"].size(); ++ring) {
      const Json &in = found["nics"][ring]["in"], &out = found["nics"][ring]["out"];
      CHECK(in["gpu"] == found["channels"][ring].front());
      CHECK(out["gpu"] == found["channels"][ring].back());
      if (!out.contains("proxy") && cluster.nics() == cluster.node().gpu_count())
        CHECK((out["nic"] == in["nic"] ||
               out["nic"] == cluster.nic_ids()[static_cast<std::size_t>(cluster.nic_of(out["gpu"].get<int>()))]));
    }
  }
}

TEST_CASE("rings of NCCL 2.3 leave by the NIC of their last GPU", "[physics][hidden]") {
  const Cluster& cluster = catalogue().machine("p100-dgx1")->cluster();
  const Json found = rings("p100-dgx1", {{"library", "nccl-2.3"}});
  for (const Json& ring : found["nics"])
    for (const char* end : {"in", "out"})
      CHECK(ring[end]["nic"] == cluster.nic_ids()[static_cast<std::size_t>(cluster.nic_of(ring[end]["gpu"]))]);
}

TEST_CASE("multicast is a row of the tuner unless it is left out, and slower over three nodes", "[physics][hidden]") {
  const auto row = [](const std::string& algorithm, Json query) {
    query.update({{"kind", "rings"}, {"platform", "hgx-h100"}, {"op", "all_reduce"}, {"size_B", kMiB}});
    const Json answer = ask(query);
    for (const Json& one : answer["tuner"])
      if (one["algorithm"] == algorithm) return one;
    return Json();
  };
  for (const bool nvls : {true, false})
    CHECK(row("nvls", {{"gpus", {0, 1, 2, 3, 4, 5, 6, 7}}, {"nvls", nvls}, {"library", "nccl-2.18"}})["enabled"] ==
          nvls);
  const auto tree_Bps = [&](int nodes) {
    return row("nvls_tree", {{"nodes", nodes}, {"library", "nccl-2.20"}})["bandwidth_Bps"].get<double>();
  };
  // A head has 40 GB/s inside a node and 48 between nodes, of which a tree with two nodes below takes half.
  CHECK_THAT(tree_Bps(3), WithinRel(tree_Bps(2) * 24 / 40, 1e-12));
  CHECK_THAT(tree_Bps(8), WithinRel(tree_Bps(3), 1e-12));
}

TEST_CASE("LL reads parts that start anywhere as fast as aligned ones", "[physics][hidden]") {
  const auto time = [](const std::string& protocol, double part_B) {
    return time_of({{"kind", "collective"},
                    {"platform", "hgx-h200"},
                    {"gpus", {0, 1, 2, 3}},
                    {"launch", "graph"},
                    {"op", "all_gather"},
                    {"algorithm", "ring"},
                    {"protocol", protocol},
                    {"size_B", 4 * part_B}});
  };
  CHECK_THAT(time("LL", 16 * kMiB + 4), WithinRel(time("LL", 16 * kMiB), 1e-5));
  CHECK(time("Simple", 16 * kMiB + 4) > 1.05 * time("Simple", 16 * kMiB));
}

TEST_CASE("ranks that are folded in get their own block of a reduce-scatter", "[physics][hidden]") {
  for (const int n : {3, 5, 6, 7, 12}) {
    const Schedule schedule = algorithms().get("recursive_halving").schedule("reduce_scatter", n);
    std::vector<ScheduledMessage> last;
    const Phase& out = schedule.phases.back();
    for (int round = 0; round < out.rounds; ++round) out.add(round, true, last);
    int power = 1;
    while (2 * power <= n) power *= 2;
    CHECK(static_cast<int>(last.size()) == n - power);
    for (const ScheduledMessage& one : last) {
      CHECK_THAT(one.share, WithinRel(1.0 / n, 1e-12));
      CHECK(one.blocks == std::vector<int>{one.to});
    }
  }
}

TEST_CASE("a rank copies what it keeps of an alltoallv: the diagonal", "[physics][hidden]") {
  const double kept = 64 * kMiB;
  const auto time = [](std::vector<std::vector<double>> sizes) {
    return time_of({{"kind", "collective"},
                    {"launch", "graph"},
                    {"op", "alltoallv"},
                    {"platform", "leonardo"},
                    {"nodes", 3},
                    {"gpus_per_node", 1},
                    {"library", "mpi-openmpi"},
                    {"algorithm", "linear"},
                    {"sizes_B", std::move(sizes)}});
  };
  const double none = time({{0, 1000, 1000}, {1000, 0, 1000}, {1000, 1000, 0}});
  for (std::size_t rank = 0; rank < 3; ++rank) {
    std::vector<std::vector<double>> sizes = {{0, 1000, 1000}, {1000, 0, 1000}, {1000, 1000, 0}};
    sizes[rank][rank] = kept;
    CHECK_THAT(time(sizes) - none,
               WithinRel(activities::own_copy_s(catalogue().machine("leonardo")->platform(), kept), 1e-6));
  }
}

TEST_CASE("a message that nobody measured starts with word to the other process", "[physics][hidden]") {
  const Platform& alps = catalogue().machine("alps")->platform();
  const double copy_s = alps.transports().get("peer").regimes.front().startup.value, tell_s = 0.7e-6;
  CHECK_THAT(activities::inside_path(alps, alps.gpu(0), alps.gpu(1)).model.regimes.front().startup.value,
             WithinRel(tell_s + copy_s + activities::issue_and_wait_s(alps, false), 1e-12));
}

TEST_CASE("a card's engine starts for 3 us, or as long as a shorter message lasts", "[physics][hidden]") {
  const Cluster& cluster = catalogue().machine("apenet-plus")->cluster();
  const double rate_Bps = 1e9, engine_Bps = cluster.capacity(cluster.key_of_engine(0, false));
  activities::Message message;
  message.from = {0, cluster.node().gpu(0)};
  message.to = {1, cluster.node().gpu(0)};
  message.transport = "gpudirect_rdma";
  for (const double bytes : {32.0, 1500.0, 3000.0, 6000.0, 1e6}) {
    message.bytes = bytes;
    CHECK_THAT(activities::start_weight(cluster, message, 0, rate_Bps),
               WithinRel(std::min(3e-6, bytes / rate_Bps) * engine_Bps / bytes, 1e-12));
  }
}

TEST_CASE("a library's message inside a node: links hold what is stored, payload is less", "[physics][hidden]") {
  const double stored = 1.6;
  for (const std::string platform : {"summit", "leonardo", "p100-dgx1"}) {
    const Cluster& cluster = catalogue().machine(platform)->cluster();
    const int last = cluster.node().gpu_count() - 1;
    const auto plain = activities::message_ways(cluster, {0, last}, {}, 1).inside[0][1];
    const auto packed = activities::message_ways(cluster, {0, last}, {}, stored).inside[0][1];
    INFO(platform);
    REQUIRE(plain.uses.size() == packed.uses.size());
    for (std::size_t use = 0; use < plain.uses.size(); ++use)
      CHECK_THAT(packed.uses[use].weight, WithinRel(stored * plain.uses[use].weight, 1e-12));
    if (plain.rate_cap_Bps < kInfinity) CHECK_THAT(packed.rate_cap_Bps, WithinRel(plain.rate_cap_Bps / stored, 1e-12));
  }
}

TEST_CASE("buffers of a ring through host memory hold 4 MiB a block, or twice a part", "[physics][hidden]") {
  const std::string platform = "hgx-h200", library = "nccl-2.18";
  collective::CollectiveJob job{catalogue().machine(platform)->lone_node(), libraries().get(library),
                                *catalogue().machine(platform)->communicator(library, {0, 1, 2, 3}),
                                collectives().get("all_reduce"), "all_reduce"};
  job.size_B = 64 * kMiB;
  CHECK(collective::ring_buffers_B(job, 2) == 8 * kMiB);
  CHECK(collective::ring_buffers_B(job, 16) == 32 * kMiB);
}

TEST_CASE("rails: the next leaf of a unit is nearer than the same rail of another unit", "[physics][hidden]") {
  const auto fabric = rail_optimized(3, 2, 4, 2, 4);  // units, nodes of each, rails
  for (int a = 0; a < 6; ++a)
    for (int b = 0; b < 6; ++b)
      for (int rail_a = 0; rail_a < 4; ++rail_a)
        for (int rail_b = 0; rail_b < 4; ++rail_b) {
          if (a == b && rail_a == rail_b) continue;
          const int distance = fabric->distance(4 * a + rail_a, 4 * b + rail_b);
          CHECK(distance == (a / 2 != b / 2 ? 2 : rail_a == rail_b ? 0 : 1));
        }
}

TEST_CASE("what a library assumes of a channel between nodes is not what it assumes inside", "[physics][hidden]") {
  const Json rings = ask({{"kind", "rings"}, {"platform", "lumi"}, {"nodes", 2}, {"gpus", {0, 1}}});
  // The list of speeds of NCCL 2.14, RCCL's search, has 24 GB/s below a Slingshot NIC's 25; inside 44 for two channels
  CHECK(rings.at("library_network_channel_bandwidth_Bps") == 24e9);
  CHECK(rings.at("library_channel_bandwidth_Bps") == 22e9);
}

TEST_CASE("a tree sends up over the other directions of the links that it sends down", "[physics][hidden]") {
  Tree tree;
  tree.hops = {{3, 1, HopKind::kPeer}, {1, 0, HopKind::kHostMemory}};
  const auto ways = activities::tree_ways(tree);
  REQUIRE(ways.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const Hop &down = ways[1][i], &up = ways[0][1 - i];
    CHECK(down.from == tree.hops[i].from);
    CHECK(up.from == down.to);
    CHECK(up.to == down.from);
    CHECK(up.kind == down.kind);
  }
}

TEST_CASE("recursive doubling: who was folded gets the parts of all others, once", "[physics][hidden]") {
  for (const int n : {3, 5, 6, 7, 12}) {
    int power = 1;
    while (2 * power <= n) power *= 2;
    const Schedule schedule = algorithms().get("recursive_doubling").schedule("all_gather", n);
    std::vector<ScheduledMessage> last;
    schedule.phases.back().add(0, false, last);
    INFO(n);
    REQUIRE(static_cast<int>(last.size()) == n - power);
    for (const ScheduledMessage& one : last) CHECK_THAT(one.share, WithinRel((n - 1.0) / n, kExact));
  }
}

TEST_CASE("libraries before NCCL's cost model: a hop over PCIe takes longer than one over NVLink",
          "[physics][hidden]") {
  const Library& early = libraries().get("nccl-2.3");
  REQUIRE(early.rings() != nullptr);
  // source: the table of NCCL 2.5.6, hardware latencies of LL: 0.4 us over NVLink, 1.0 over PCIe
  CHECK_THAT(early.rings()->hop_latency("LL", "NVL").si, WithinRel(0.4e-6, kExact));
  for (const char* pcie : {"PIX", "PXB", "PHB", "SYS"})
    CHECK_THAT(early.rings()->hop_latency("LL", pcie).si, WithinRel(1.0e-6, kExact));
}

}  // namespace linkcast::test::hidden_choices_test
