// Operations of messages between nodes: closed forms, and the reduced form against one activity a message.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "sim/engine/solvers.hpp"
#include "sim/forecast/collective_messages.hpp"
#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fabric_examples.hpp"
#include "tests/support/unlearned.hpp"

namespace linkcast::test::reduced_test {

namespace {

const char* const kLibrary = "nccl-2.18";
constexpr double kSize_B = 2097152;

/// Nodes of Alps, whose 4 GPUs have a NIC each, on some other fabric.
Cluster cluster_on(std::unique_ptr<Fabric> fabric, int nics, FabricRouting routing = FabricRouting::kAdaptive) {
  std::vector<std::string> ids;
  for (int nic = 0; nic < nics; ++nic) ids.push_back("nic" + std::to_string(nic));
  return Cluster(catalogue().machine(unlearned("alps", false))->platform(), std::move(fabric), routing, ids);
}

struct Asked {
  std::string op;
  int nodes = 2, per_node = 1;
  std::string engine{};
};

collective::MessageAnswer run_on(const Cluster& cluster, const Asked& asked) {
  std::vector<int> gpus;
  for (int gpu = 0; gpu < asked.per_node; ++gpu) gpus.push_back(gpu);
  const Library& library = libraries().get(kLibrary);
  const Communicator made = library.rings()->build_across(cluster, gpus, asked.nodes);
  collective::CollectiveJob job{cluster, library, made, collectives().get(asked.op), asked.op, kSize_B};
  job.engine = asked.engine;
  return collective::run_messages(job, {}, catalogue().solver("fluid"));
}

void check_equal(const Cluster& cluster, int nodes, int per_node) {
  const collective::MessageAnswer reduced = run_on(cluster, {"alltoall", nodes, per_node, "reduced"});
  const collective::MessageAnswer direct = run_on(cluster, {"alltoall", nodes, per_node, "direct"});
  INFO(nodes << " nodes of " << per_node << " GPUs, " << reduced.classes << " classes of " << direct.classes);
  const double ranks = nodes * per_node;
  CHECK(direct.messages == ranks * (ranks - 1));
  CHECK(reduced.messages == direct.messages);
  CHECK(reduced.classes <= direct.classes);
  CHECK_THAT(reduced.flow_s, WithinRel(direct.flow_s, 1e-9));
  CHECK_THAT(reduced.plan.latency_s, WithinRel(direct.plan.latency_s, 1e-12));
}

/// Payload that a port of NIC 0 carries.
double port_Bps(const Cluster& cluster, const collective::MessageAnswer& answer) {
  std::vector<int> way;
  cluster.fabric().minimal_way(0, 1, 0, way);
  return cluster.capacity(cluster.key_of_fabric_link(way.front())) *
         ring_library(kLibrary)
             .message(ring_library(kLibrary).build_across(cluster, {0}, 2), {answer.plan.busiest_B}, 0)
             ->payload_share;
}

}  // namespace

TEST_CASE("reduced alltoall equals one activity a message on every kind of fabric", "[physics]") {
  for (const std::string name : {"single", "fat", "tapered", "three", "dragonfly", "twin", "plus", "few", "rail"}) {
    const auto make = [&]() -> std::pair<std::unique_ptr<Fabric>, int> {
      if (name == "single") return {test::single_switch(9, 4), 4};
      if (name == "fat") return {test::fat_tree(test::TwoLevelsOf{6, 3, 3, 3}), 1};
      if (name == "tapered") return {test::fat_tree(test::TwoLevelsOf{4, 2, 8, 4}), 1};
      if (name == "three") return {test::fat_tree(test::ThreeLevelsOf{3, 3, 2, 4, 4, 4, 4}), 1};
      if (name == "dragonfly") return {test::dragonfly({5, 4, 2, 4}), 1};
      if (name == "twin") return {test::dragonfly({4, 4, 4, 2, 4, 2}), 4};
      if (name == "plus") return {test::dragonfly_plus({5, 3, 4, 2, 4}), 1};
      if (name == "few") return {test::dragonfly_plus({4, 4, 3, 2, 2}), 1};
      return {test::rail_optimized(2, 3, 4, 2, 4), 4};
    };
    auto [fabric, nics] = make();
    const Cluster cluster = cluster_on(std::move(fabric), nics);
    for (const int per_node : {1, 2, 4})
      for (const int nodes : {2, 3, 5, cluster.nodes() - 1, cluster.nodes()}) {
        if (nodes > cluster.nodes() || nodes * per_node > 64) continue;
        INFO(name);
        check_equal(cluster, nodes, per_node);
      }
  }
}

TEST_CASE("reduced alltoall equals one activity a message where all detours share", "[physics]") {
  for (const int nodes : {3, 16, 31, 40})
    check_equal(cluster_on(test::dragonfly({5, 4, 2, 4}), 1, FabricRouting::kValiant), nodes, 1);
}

TEST_CASE("reduced alltoall equals one activity a message on shipped machines", "[physics]") {
  for (const char* platform : {"alps", "leonardo", "lumi", "summit"})
    for (const int nodes : {2, 11, 16}) check_equal(catalogue().machine(platform)->cluster(), nodes, 4);
}

TEST_CASE("alltoall of 512 GPUs: reduced equals one activity a message", "[.long]") {
  for (const char* platform : {"alps", "leonardo"}) check_equal(catalogue().machine(platform)->cluster(), 128, 4);
}

TEST_CASE("reduced alltoall equals one activity a message over two groups and detours among all", "[physics]") {
  check_equal(catalogue().machine("alps")->cluster(), 150, 1);
  check_equal(catalogue().machine("leonardo")->cluster(), 200, 1);
}

TEST_CASE("alltoall below one switch waits for its ports", "[physics]") {
  for (const int nodes : {2, 3, 8, 33}) {
    const Cluster cluster = cluster_on(test::single_switch(40), 1);
    for (const int sharing : {1, 2, 4}) {  // GPUs of a node that share its NIC
      const collective::MessageAnswer answer = run_on(cluster, {"alltoall", nodes, sharing});
      const double out = sharing * sharing * (nodes - 1);
      CHECK(answer.engine == "reduced");
      CHECK_THAT(answer.flow_s, WithinRel(out * kSize_B / (nodes * sharing) / port_Bps(cluster, answer), 1e-9));
    }
  }
}

TEST_CASE("alltoall over tapered leaves waits for their up-links", "[physics]") {
  const Cluster cluster = cluster_on(test::fat_tree(test::TwoLevelsOf{4, 2, 8, 4}), 1);
  const collective::MessageAnswer answer = run_on(cluster, {"alltoall", 32, 1});
  CHECK_THAT(answer.flow_s, WithinRel(8 * 24 / 4 * kSize_B / 32 / port_Bps(cluster, answer), 1e-9));
  CHECK(answer.limits.size() == 2 * 4 * 4);  // four of each leaf, up and down, all as busy
  for (const int key : answer.limits) CHECK(cluster.id(key).find("spine") != std::string::npos);
}

TEST_CASE("alltoall between two groups waits for the cables between them", "[physics]") {
  const Cluster cluster = cluster_on(test::dragonfly_plus({2, 2, 2, 8, 2}), 1);
  const collective::MessageAnswer answer = run_on(cluster, {"alltoall", 32, 1});
  CHECK_THAT(answer.flow_s, WithinRel(16 * 16 / 2 * kSize_B / 32 / port_Bps(cluster, answer), 1e-9));
}

TEST_CASE("rings of messages, gather and scatter below one switch in closed form", "[physics]") {
  const Cluster cluster = cluster_on(test::single_switch(40), 1);
  for (const int nodes : {2, 5, 40}) {
    const collective::MessageAnswer ring = run_on(cluster, {"sendrecv", nodes, 1});
    CHECK_THAT(ring.flow_s, WithinRel(kSize_B / port_Bps(cluster, ring), 1e-9));
    for (const char* op : {"gather", "scatter"}) {
      const collective::MessageAnswer answer = run_on(cluster, {op, nodes, 1});
      CHECK(answer.engine == "direct");
      CHECK(answer.messages == nodes - 1);
      CHECK_THAT(answer.flow_s, WithinRel((nodes - 1) * kSize_B / nodes / port_Bps(cluster, answer), 1e-9));
    }
  }
}

TEST_CASE("messages between nodes start after the library's latencies and the longest way", "[physics]") {
  const RingLibrary& library = ring_library(kLibrary);
  const Cluster near = cluster_on(test::single_switch(5), 1);
  const collective::MessageAnswer at_one = run_on(near, {"alltoall", 5, 1});
  const std::string protocol = at_one.plan.choice.protocol;
  // Believed: base and hop of the smallest message, which takes LL; Simple begins 3.8 us later, pairs of H100 and H200.
  const double base = library.base_latency("LL").si + (protocol == "LL" ? 0 : 3.8e-6),
               network = protocol == "LL" ? 5e-6 : 14e-6;
  const Communicator made = library.build_across(near, {0}, 5);
  const auto grown = [&](int nodes) {  // steps take longer, the more nodes there are
    return network * (1 + key::network_hop_growth.prior->value * (std::log2(nodes) - 1));
  };
  const double hop = library.hop_latency("LL", made.path_class).si;
  CHECK_THAT(at_one.plan.latency_s, WithinRel(base + hop + grown(5), 1e-12));
  // Two host links and one between switches here, two host links there, at 300 ns each; the machine's cables are
  // scaled.
  const double scale = parameter(catalogue().machine("alps")->platform(), "cable.slingshot.latency_scale");
  const collective::MessageAnswer wide = run_on(cluster_on(test::dragonfly({2, 5, 2, 3}), 1), {"alltoall", 4, 1});
  CHECK_THAT(wide.plan.latency_s - grown(4) - (at_one.plan.latency_s - grown(5)), WithinRel(scale * 300e-9, 1e-6));
}

TEST_CASE("reduction is refused where ways follow endpoints", "[physics]") {
  const auto refused = [](const Cluster& cluster, int nodes) {
    CHECK_THROWS_AS(run_on(cluster, {"alltoall", nodes, 1, "reduced"}), InputError);
    const collective::MessageAnswer answer = run_on(cluster, {"alltoall", nodes, 1});
    CHECK(answer.engine == "direct");
    return answer.why_direct;
  };
  CHECK(refused(cluster_on(test::torus({3, 4, 2}), 1), 24).find("joined directly") != std::string::npos);
  for (const FabricRouting routing : {FabricRouting::kMinimal, FabricRouting::kEcmp})
    CHECK(
        refused(cluster_on(test::fat_tree(test::TwoLevelsOf{6, 3, 3, 3}), 1, routing), 18).find("one way of its own") !=
        std::string::npos);
  const Cluster large = cluster_on(test::torus({12, 12, 8}), 1);
  CHECK_THROWS_AS(run_on(large, {"alltoall", 1152, 1}), InputError);
  CHECK_THROWS_AS(run_on(cluster_on(test::single_switch(5), 1), {"gather", 5, 1, "reduced"}), InputError);
}

TEST_CASE("alltoall takes detours where minimal ways are busier than NICs", "[physics]") {
  const Cluster& cluster = catalogue().machine("alps")->cluster();
  const collective::MessageAnswer small = run_on(cluster, {"alltoall", 16, 4});  // 4 switches of a group of 32
  std::vector<int> way;
  cluster.fabric().minimal_way(0, 4 * 12, 0, way);
  REQUIRE(way.size() == 3);
  // 16 x 16 messages cross the cable between two switches; a NIC sends 60, the least that a message needs with detours.
  const double wire = cluster.capacity(cluster.key_of_fabric_link(way[1])), message_B = small.plan.busiest_B;
  const double share = ring_library(kLibrary)
                           .message(ring_library(kLibrary).build_across(cluster, {0, 1, 2, 3}, 16), {message_B}, 0)
                           ->payload_share;
  CHECK(small.flow_s < 256 * message_B / share / wire);
  CHECK(small.flow_s > (60 - 1e-6) * message_B / share / wire);
}

TEST_CASE("alltoall of ever more nodes has no jumps", "[physics]") {
  // Shares settle within 1/40 of the bytes, so that two forecasts of nearly the same traffic differ by two of these.
  const double settled = 2.0 / 40;
  struct Walk {
    const char* platform;
    int first, last, step;
  };
  for (const Walk& walk : {Walk{"alps", 240, 300, 3}, Walk{"lumi", 236, 266, 5}, Walk{"leonardo", 540, 560, 5}}) {
    const Cluster& cluster = catalogue().machine(walk.platform)->cluster();
    double before = 0;
    for (int nodes = walk.first; nodes <= walk.last; nodes += walk.step) {
      const collective::MessageAnswer answer = run_on(cluster, {"alltoall", nodes, 4});
      INFO(walk.platform << ' ' << nodes << ": " << answer.flow_s << " after " << before);
      CHECK(answer.engine == "reduced");
      if (before > 0) CHECK(std::abs(answer.flow_s / before - 1) < settled + 1.0 * walk.step / nodes);
      before = answer.flow_s;
    }
  }
}

TEST_CASE("alltoall over full groups of a dragonfly lies between its NICs and detours over all groups", "[physics]") {
  // Of the fabric alone: messages of so many ranks take LL, whose proxies would be slower.
  const auto machine = catalogue().machine(unlearned("alps", false));
  const Cluster& cluster = machine->cluster();
  const int all = 21, cables = 27, in_group = 128;  // topologies/alps.json
  for (const int groups : {2, 4, 8}) {
    const int nodes = groups * in_group;
    const collective::MessageAnswer answer = run_on(cluster, {"alltoall", nodes, 4});
    const double message_s = answer.plan.busiest_B / port_Bps(cluster, answer);
    const double ports_s = 4 * (nodes - 1) * message_s;
    // Of the messages between two groups 1/41 stay on their cables after 40 rounds of averaging; the rest goes over the
    // all - 2 other groups, and 2 (groups - 2) other pairs of groups in use have this pair's cables on such ways.
    const double detoured = 40.0 / 41, between = std::pow(4 * in_group, 2) * message_s / cables;
    const double cables_s = between * (1 - detoured + 2 * (groups - 2) * detoured / (all - 2));
    INFO(groups << " groups, " << answer.flow_s << ": ports " << ports_s << ", cables " << cables_s);
    CHECK(answer.flow_s >= ports_s * (1 - 1e-9));
    CHECK(answer.flow_s < 1.25 * std::max(ports_s, cables_s));  // chosen ways are not quite even
    CHECK(answer.flow_s < between);                             // all on minimal ways
  }
}

TEST_CASE("alltoall of 4096 GPUs takes seconds", "[physics]") {
  for (const char* platform : {"alps", "leonardo", "lumi"}) {
    const std::clock_t started = std::clock();
    const Json result = query::answer(catalogue(), {{"platform", platform},
                                                    {"kind", "collective"},
                                                    {"launch", "graph"},
                                                    {"op", "alltoall"},
                                                    {"nodes", 1024},
                                                    {"gpus_per_node", 4},
                                                    {"size_B", kSize_B}});
    REQUIRE(result.value("error", "") == "");
    CHECK(result["engine"] == "reduced");
    CHECK(result["messages"] == 4096.0 * 4095);
    CHECK(static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC < 60);  // of this process; with sanitizers too
  }
}

}  // namespace linkcast::test::reduced_test
