// Messages between nodes in noise and with background jobs: waits, queues and rates of small networks worked out by
// hand.
#include <algorithm>
#include <set>

#include "sim/base/index.hpp"
#include "sim/machine/placed_fabric.hpp"
#include "sim/plan/jobs_beside.hpp"
#include "sim/plan/noisy_message.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::congestion_test {

namespace {

/// Three leaves of two nodes and one spine, a cable from each leaf to it.
std::string three_leaves(const std::string& uplink) {
  return "fabric fat_tree:levels=2,nodes=6,switches_per_node=1,endpoints_per_leaf=8,radix=40,leaves=3,spines=1,"
         "uplinks_per_leaf=1,routing=minimal,source=test,links.host.cable=ib_ndr,links.host.bandwidth=10 GB/s,"
         "links.host.latency=300 ns,links.host.source=test,links.leaf_spine.cable=ib_ndr,links.leaf_spine.bandwidth=" +
         uplink + ",links.leaf_spine.latency=300 ns,links.leaf_spine.source=test";
}

/// A ring of the first nodes with this background job.
Json ring_with(const Json& job, int nodes, double size_B, const std::string& uplink,
               const Json& more = Json::object()) {
  Json query{{"platform", "leonardo"},   {"kind", "collective"}, {"op", "all_gather"},
             {"library", "mpi-openmpi"}, {"algorithm", "ring"},  {"nodes", nodes},
             {"gpus_per_node", 1},       {"size_B", size_B},     {"edits", {three_leaves(uplink)}}};
  query["beside"] = Json::array({job});
  query.update(more);
  return ask(query);
}

/// A random order of six nodes in which the first three and the last three have a leaf each, and share the one in the
/// middle.
std::uint64_t shared_leaf_seed() {
  for (std::uint64_t seed = 0;; ++seed) {
    const std::vector<int> order = random_order(6, seed);
    const auto leaves = [&](int begin) {
      return std::set<int>{order[at(begin)] / 2, order[at(begin + 1)] / 2, order[at(begin + 2)] / 2}.size();
    };
    if (leaves(0) == 2 && leaves(3) == 2) return seed;
  }
}

}  // namespace

TEST_CASE("parts of a message wait at the same time", "[physics]") {
  const Cluster& cluster = catalogue().machine("leonardo")->cluster();
  congestion::NetworkLoad load;
  load.noise = NoiseModel::of(cluster.node().calibration());
  load.samples = 1;
  const auto finish_s = [&](const std::vector<int>& nics) {  // of hardly a byte to a node of another group
    activities::ClusterProblem problem(cluster);
    problem.keep_crossings();
    for (const int nic : nics)
      problem.pass_fabric(nic, cluster.endpoint(2000, nic), 1 / static_cast<double>(nics.size()));
    Activity message;
    message.work_B = 1e-3;
    problem.add(std::move(message));
    return congestion::noisy_messages(problem, load, 0, catalogue().solver("fluid")).makespan_s;
  };
  for (load.seed = 0; load.seed < 5; ++load.seed) {
    const double first_s = finish_s({0}), second_s = finish_s({1});
    CHECK(std::min(first_s, second_s) > 1e-9);  // a wait: the byte takes less than 1e-13 s
    CHECK_THAT(finish_s({0, 1}), WithinRel(std::max(first_s, second_s), 1e-3));
  }
}

TEST_CASE("bytes of a flow stand before the queue that holds it back, not in it", "[physics]") {
  // Link 31 has 22 for the 110 that arrive. Flow 0 keeps 10 of its 100 at its port already, flow 1 is held at 31: no
  // bytes stand at 31 for a queue behind it, so that flow 0 keeps its 10. Two other flows share a link of 0.1.
  const auto capacity = [](int link) { return link == 31 ? 22 : link == 50 ? 0.1 : 10.0; };
  const std::vector<double> shares = congestion::head_of_line_shares(
      {{0, 100, 0, {{40, 31}}}, {1, 10, 0, {{1, 31}}}, {2, 10, 0, {{50}}}, {3, 10, 0, {{50}}}}, capacity);
  CHECK_THAT(shares[0], WithinRel(0.1, 1e-9));
  CHECK_THAT(shares[1], WithinRel(0.2, 1e-9));
  CHECK_THAT(shares[2], WithinRel(0.005, 1e-9));
}

TEST_CASE("a victim falls to the share of the flows to the hot spot, not below", "[physics]") {
  // Flow 1 wants 1 of the link to which 31 go: 10 of these 31 are moved. Flow 0 shares a cable with it and wants 10.
  const auto capacity = [](int link) { return link == 20 || link == 21 ? 100.0 : 10.0; };
  const std::vector<double> shares = congestion::head_of_line_shares({{0, 10, 0, {{0, 20, 30}}},
                                                                      {1, 1, 0, {{1, 20, 31}}},
                                                                      {2, 10, 0, {{2, 21, 31}}},
                                                                      {3, 10, 0, {{3, 21, 31}}},
                                                                      {4, 10, 0, {{4, 21, 31}}}},
                                                                     capacity);
  for (const double share : shares) CHECK_THAT(share, WithinRel(10.0 / 31, 1e-9));
}

TEST_CASE("a rank of a background alltoall sends to the ranks of other nodes what its port moves", "[physics]") {
  // The others are two nodes each at the second and third leaf, three peers each: a third of 10 GB/s to each. Four such
  // flows leave a leaf over 5 GB/s, 3/8 of what they want; to the neighbour at the leaf a third gets through.
  const Json answer = ring_with({{"op", "alltoall"}, {"nodes", 4}}, 2, kMiB, "5 GB/s");
  CHECK_THAT(answer["beside"][0]["sends_of_port"].get<double>(), WithinRel((1 + 2 * 3.0 / 8) / 3, 1e-6));
  CHECK_THAT(answer["slowdown"].get<double>(), WithinRel(1, kExact));  // it stays at the first leaf
}

TEST_CASE("with a job that fills its cable a message takes its own bytes over the cable's rate longer", "[physics]") {
  // Two rings of three nodes, one each at the leaf in the middle. The other one sends as much as its cable moves: of r
  // + C the cable moves C, so that a message of S bytes at rate r takes S / r x (r + C) / C, or S / C more, whatever r
  // and its start-up are.
  const Json placed{{"allocation", "random"}, {"allocation_seed", shared_leaf_seed()}};
  const catalogue::MachinePtr machine = catalogue().edited(catalogue().machine("leonardo"), {three_leaves("10 GB/s")});
  const double cable_Bps = machine->cluster().capacity(machine->cluster().key_of_fabric_link(0));
  for (const double part_B : {65536.0, 1048576.0, 16777216.0}) {
    const Json answer = ring_with({{"op", "all_reduce"}, {"nodes", 3}}, 3, 3 * part_B, "10 GB/s", placed);
    const double longer_s = answer["time_s"].get<double>() - answer["alone_s"].get<double>();
    INFO(part_B << " B: " << answer["alone_s"]);
    CHECK_THAT(longer_s, WithinRel(2 * part_B / cable_Bps, 1e-6));
  }
}

}  // namespace linkcast::test::congestion_test
