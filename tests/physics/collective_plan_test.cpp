// What a library makes of a collective, of choices made up here: how blocks and bytes are dealt out to rings, trees,
// heads and channels, what its last step takes, and what waiting at hops between nodes adds.
#include "sim/forecast/collective_plan.hpp"

#include <cmath>
#include <numeric>
#include <tuple>

#include "models/algorithms/multicast.hpp"
#include "models/algorithms/tree_edges.hpp"
#include "sim/forecast/collective_run.hpp"
#include "sim/machine/binary_tree.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::collective_plan_test {

namespace {

using collective::CollectiveJob;
using collective::CollectivePlan;

const Values kRates = {
    {"ring.Simple.base_s", 9e-6},     {"ring.Simple.hop_s", 2e-6},      {"ring.Simple.channel_Bps", 0.5e9},
    {"ring.Simple.crowding", 0},      {"ring.Simple.copy_steps", 0.5},  {"ring.Simple.reduce_steps", 0.2},
    {"ring.Simple.copy_s", 1.5e-6},   {"ring.Simple.reduce_s", 0.8e-6}, {"tree.Simple.slowness", 1.5},
    {"sendrecv.unidirectional", 1.4}, {"network.Simple.hop_s", 13e-6},  {"network.Simple.channel_Bps", 0.4e9},
    {"ring.Simple.tail_steps", 0.7},  {"nvls.channel_Bps", 0.3e9},      {"nvls.chunk_s", 1e-6},
    {"ring.Simple.read_steps", 0.1},  {"ring.Simple.read_s", 0.6e-6}};

/// Nodes with NVSwitches at one switch.
const Cluster& switched() {
  static const catalogue::MachinePtr id =
      catalogue().edited(catalogue().machine("hgx-h100"),
                         {"fabric single_switch:nodes=16,radix=128,routing=minimal,source=test,links.host.cable=ib_ndr,"
                          "links.host.bandwidth=50 GB/s,links.host.latency=300 ns,links.host.source=test,sharp=test"});
  return id->cluster();
}

/// The library takes this, whatever it is asked for.
void take(TableLibrary& library, const std::string& algorithm, int blocks, double payload_share = 1) {
  TunerChoice taken;
  taken.entry.algorithm = algorithm;
  taken.entry.protocol = "Simple";
  taken.channels = blocks;
  taken.payload_share = payload_share;
  library.made.taken = taken;
}

CollectiveJob job_of(const Cluster& machine, const Library& library, const Communicator& made, const std::string& op,
                     double size_B) {
  return {machine, library, made, collectives().get(op), op, size_B};
}

std::vector<double> works(const Problem& all) {
  std::vector<double> found;
  for (const Activity& one : all.activities) found.push_back(one.work_B);
  return found;
}

/// Every member in a chain.
Tree chain_of(const std::vector<int>& order) {
  Tree made;
  made.order = order;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) made.hops.push_back({order[i], order[i + 1], HopKind::kPeer});
  return made;
}

}  // namespace

TEST_CASE("plan: blocks go round the distinct rings, each carries its part of the bytes", "[physics][plan]") {
  const auto node = made_platform("hgx-h200", kRates);
  const Cluster machine(*node);
  TableLibrary library;
  Communicator made = made_ring({0, 1, 2, 3});
  made.channels.assign(3, made.channels.front());
  made.trees = {chain_of({0, 1, 2, 3})};  // else each ring has the blocks that it was built with
  // bytes by what each takes of a block: a send 0.65 of a step, 0.5 more to store, 0.2 more to add where it does not
  // store and send as well, 0.1 where it only receives
  for (const auto& [op, per_hop, steps] : {std::tuple{"all_reduce", 1.5, 6 * 0.65 + 4 * 0.5 + 2 * 0.2 + 0.1},
                                           {"all_gather", 0.75, 3 * 0.65 + 4 * 0.5 + 0.1},
                                           {"reduce_scatter", 0.75, 3 * 0.65 + 0.5 + 3 * 0.2 + 0.1},
                                           {"broadcast", 1.0, 4 * (0.65 + 0.5)},
                                           {"reduce", 1.0, 4 * (0.65 + 0.2)}})
    for (const auto& [blocks, on] :
         std::vector<std::pair<int, std::vector<double>>>{{5, {2, 2, 1}}, {2, {1, 1}}, {3, {1, 1, 1}}}) {
      INFO(op << " " << blocks);
      take(library, "ring", blocks, 0.5);
      activities::ClusterProblem problem(machine);
      const CollectivePlan plan = collective::plan(job_of(machine, library, made, op, 6400000), problem);
      CHECK(plan.choice.blocks == blocks);
      CHECK(plan.choice.algorithm == "ring");
      CHECK(plan.choice.payload_share == 0.5);
      const std::vector<Activity>& flows = problem.problem().activities;
      REQUIRE(flows.size() == on.size());
      CHECK(plan.hops.size() == on.size());
      for (std::size_t i = 0; i < on.size(); ++i) {
        CHECK_THAT(flows[i].work_B / flows[0].work_B, WithinRel(on[i] / on[0], kExact));
        // alone each would take the time of its blocks
        CHECK_THAT(flows[i].work_B / flows[i].rate_cap_Bps, WithinRel(6400000.0 / 4 * steps / blocks / 0.5e9, kExact));
      }
      CHECK_THAT(plan.busiest_B, WithinRel(per_hop * 6400000 * on[0] / blocks, kExact));
    }
  made.trees.clear();
  made.channels[0].blocks = 4;
  take(library, "ring", 6);
  activities::ClusterProblem problem(machine);
  CHECK_THAT(collective::plan(job_of(machine, library, made, "all_gather", 6400000), problem).busiest_B,
             WithinRel(0.75 * 6400000 * 4 / 6, kExact));
}

TEST_CASE("plan: trees in a node carry all bytes up and down, between nodes half of the blocks take either",
          "[physics][plan]") {
  const auto node = made_platform("hgx-h200", kRates);
  const Cluster machine(*node);
  TableLibrary library;
  Communicator made = made_ring({0, 1, 2});
  made.trees = {chain_of({0, 1, 2}), chain_of({2, 0, 1})};
  take(library, "tree", 3);
  activities::ClusterProblem problem(machine);
  const CollectivePlan plan = collective::plan(job_of(machine, library, made, "all_reduce", 9e6), problem);
  const std::vector<Activity>& flows = problem.problem().activities;
  REQUIRE(flows.size() == 4);
  CHECK_THAT(flows[0].work_B, WithinRel(2 * flows[2].work_B, kExact));
  CHECK(flows[0].work_B == flows[1].work_B);
  for (const Activity& flow : flows) CHECK_THAT(flow.work_B / flow.rate_cap_Bps, WithinRel(9e6 / 3 / 0.25e9, kExact));
  CHECK_THAT(plan.busiest_B, WithinRel(6e6, kExact));
  CHECK_THAT(plan.latency_s, WithinRel(1.5 * (9e-6 + 4 * 2e-6), kExact));
  CHECK(plan.steps == 4);
  CHECK(plan.between_s == 0);
  take(library, "tree", 1);
  activities::ClusterProblem one(machine);
  CHECK(collective::plan(job_of(machine, library, made, "all_reduce", 9e6), one).hops.size() == 2);
  const Cluster& alps = catalogue().machine("alps")->cluster();
  for (const auto& [blocks, used] : {std::pair{1, 1}, {3, 3}, {4, 4}, {9, 4}}) {
    Communicator nodes = made;
    nodes.nodes = 5;
    take(library, "tree", blocks);
    activities::ClusterProblem between(alps);
    const CollectivePlan crossing = collective::plan(job_of(alps, library, nodes, "all_reduce", 9e6), between);
    CHECK(between.problem().activities.size() == static_cast<std::size_t>(2 * used));
    CHECK_THAT(crossing.busiest_B, WithinRel(9e6 / blocks * ((blocks + 3) / 4), kExact));  // 9: 3, 2, 2 and 2
    const int depth = std::max(tree_depth(5, 0), tree_depth(5, 1));
    CHECK(crossing.steps == 4 + 2 * depth);
    CHECK_THAT(crossing.between_s, WithinRel(2 * depth * crossing.cost.network_hop_s, kExact));
  }
}

TEST_CASE("plan: the last step of a reduce_scatter idles links where blocks keep step, else all steps are counted",
          "[physics][plan]") {
  const auto node = made_platform("hgx-h200", kRates);
  const Cluster machine(*node);
  TableLibrary library;
  const Communicator made = made_ring({0, 1, 2, 3});
  take(library, "ring", 1);
  for (const bool keeps : {false, true}) {
    library.made.keeps = keeps;
    // three sends of 0.65, a store, three adds, a read; kept step: three alike and one of 0.7
    const double steps = keeps ? 3.7 : 3 * 0.65 + 0.5 + 3 * 0.2 + 0.1;
    activities::ClusterProblem problem(machine);
    const CollectivePlan plan = collective::plan(job_of(machine, library, made, "reduce_scatter", 6400000), problem);
    CHECK_THAT(plan.cost.channel_Bps, WithinRel(keeps ? 0.5e9 : 0.5e9 * 3 / steps, kExact));
    CHECK_THAT(plan.tail_s, WithinAbs(keeps ? 0.7 / 3 * 0.75 * 6400000 / 0.5e9 : 0, 1e-12));
    const double time_s =
        collective::run_alone(job_of(machine, library, made, "reduce_scatter", 6400000), catalogue().solver("fluid"))
            .flow_s;
    // in the only round, of 2 MiB a block, all store and add at once in the step that sends nothing: of 24 blocks 1.6
    // times as long
    const double together = keeps ? 0 : 0.6 / 23 * (plan.choice.blocks - 1) * (0.1 + 0.5 + 0.2);
    CHECK_THAT(time_s, WithinRel(6400000.0 / 4 * (steps + together) / 0.5e9, 1e-6));
  }
}

TEST_CASE("plan: hops that store and that add, by operation, whatever the channels", "[physics][plan]") {
  const auto node = made_platform("hgx-h200", kRates);
  const Cluster machine(*node);
  TableLibrary library;
  Communicator made = made_ring({0, 1, 2, 3, 4});
  made.trees = {chain_of({0, 1, 2, 3, 4})};
  for (const int blocks : {1, 8})
    for (const auto& [op, hops, storing, adding] : {std::tuple{"all_reduce", 8.0, 4, 4},
                                                    {"all_gather", 4.0, 4, 0},
                                                    {"reduce_scatter", 4.0, 0, 4},
                                                    {"broadcast", 4.0 / 20, 1, 0},
                                                    {"reduce", 4.0 / 20, 0, 1}}) {
      INFO(op << " " << blocks);
      take(library, "ring", blocks);
      activities::ClusterProblem problem(machine);
      const CollectivePlan plan = collective::plan(job_of(machine, library, made, op, 1e6), problem);
      CHECK(plan.steps == std::lround(hops));
      CHECK_THAT(plan.latency_s,
                 WithinRel(9e-6 + hops * 2e-6 + storing * 1.5e-6 + adding * 0.8e-6 + (hops < 1 ? 0 : 0.6e-6), kExact));
    }
}

TEST_CASE("plan: heads of multicast, switches that reduce and aggregated trees share out bytes and blocks",
          "[physics][plan]") {
  const auto node = made_platform("hgx-h200", kRates);
  const Cluster machine(*node);
  const Cluster& machines = switched();
  TableLibrary library;
  library.made.switches = {20e-6, {}, {5e-6, 4}, {}};
  Communicator made = made_ring({3, 1, 0, 2});
  for (const int heads : {2, 4, 9}) {
    made.nvls_channels = heads;
    const int used = std::min(heads, 4);
    std::vector<int> expected(made.gpus.begin(), made.gpus.begin() + used);
    CHECK(multicast_heads(made) == expected);
    take(library, "nvls", 6);
    activities::ClusterProblem problem(machine);
    const CollectivePlan plan = collective::plan(job_of(machine, library, made, "all_reduce", 8e6), problem);
    const std::vector<Activity>& flows = problem.problem().activities;
    REQUIRE(flows.size() == static_cast<std::size_t>(used));
    CHECK_THAT(plan.busiest_B, WithinRel(8e6 / used, kExact));
    for (const Activity& flow : flows) CHECK_THAT(flow.work_B / flow.rate_cap_Bps, WithinRel(8e6 / 6 / 0.3e9, kExact));
    // 20 and 4 times 5, and 1 of each round, whose chunks are 64 KiB, of less than eight rounds 32
    const double rounds = 8e6 / (6 * used * (used == 2 ? 65536 : 32768));
    CHECK_THAT(plan.latency_s, WithinRel(42e-6 + rounds * 1e-6, kExact));
    CHECK(plan.steps == 1);
  }
  // between nodes: a head for each first GPU of a ring, half of its part on either tree
  Communicator nodes = made_ring({0, 1});
  nodes.channels.push_back(made_ring({1, 0}).channels.front());
  nodes.channels.push_back(nodes.channels.front());
  nodes.nodes = 4;
  CHECK(multicast_heads(nodes) == std::vector<int>{0, 1});
  const auto planned = [&](const std::string& algorithm, const std::string& op) {
    take(library, algorithm, 6);
    activities::ClusterProblem problem(machines);
    const CollectivePlan plan = collective::plan(job_of(machines, library, nodes, op, 12e6), problem);
    return std::pair{plan, works(problem.problem())};
  };
  const auto [tree, tree_B] = planned("nvls_tree", "all_reduce");
  CHECK_THAT(tree.busiest_B, WithinRel(6e6, kExact));
  CHECK(tree.steps == 4);
  CHECK_THAT(std::accumulate(tree_B.begin(), tree_B.end(), 0.0) / static_cast<double>(tree_B.size()),
             WithinRel(3e6, kExact));
  for (const char* algorithm : {"collnet_chain", "collnet_direct", "nvls"}) {
    const auto [plan, bytes] = planned(algorithm, "all_reduce");
    CHECK_THAT(plan.busiest_B, WithinRel(4e6, kExact));
    for (const double one : bytes) CHECK_THAT(one, WithinRel(4e6, kExact));
  }
  for (const char* op : {"all_gather", "reduce_scatter"}) {
    const auto [plan, bytes] = planned("pat", op);
    CHECK_THAT(plan.busiest_B, WithinRel(12e6 * 7 / 8 / 3, kExact));
    CHECK(bytes.size() == 3);
  }
  CHECK(algorithms().get("nvls").needs(1).multicast);
  CHECK_FALSE(algorithms().get("nvls").needs(1).reducing_fabric);
  CHECK(algorithms().get("collnet_direct").needs(2).reducing_fabric);
  CHECK_FALSE(algorithms().get("tree").needs(2).multicast);
}

TEST_CASE("plan: what a wait at each hop between nodes adds, by algorithm", "[physics][plan]") {
  const Cluster& machines = switched();
  TableLibrary library;
  library.made.switches = {20e-6, {}, {5e-6, 4}, {}};
  const auto one = [](int, int) { return 1.0; };
  for (const int nodes : {2, 3, 8}) {
    Communicator made = made_ring({0, 1});
    made.trees = {chain_of({0, 1})};
    made.nodes = nodes;
    const double ranks = 2 * nodes;
    const auto waits = [&](const std::string& algorithm, const std::string& op, int calls = 1) {
      take(library, algorithm, 2);
      CollectiveJob job = job_of(machines, library, made, op, 8e6);
      job.calls = calls;
      activities::ClusterProblem problem(machines);
      return collective::plan(job, problem).choice.runs().first_byte_s(job, one);
    };
    INFO(nodes);
    CHECK_THAT(waits("ring", "all_reduce"), WithinRel(nodes * 2 * (ranks - 1) / ranks, kExact));
    CHECK_THAT(waits("ring", "all_gather", 20), WithinRel(nodes * (ranks - 1) / ranks, kExact));
    CHECK_THAT(waits("ring", "broadcast"), WithinRel(nodes - 1.0, kExact));
    CHECK_THAT(waits("ring", "broadcast", 20), WithinRel((nodes - 1.0) / 20, kExact));
    CHECK_THAT(waits("tree", "all_reduce"), WithinRel(2.0 * tree_depth(nodes, 0), kExact));
    CHECK_THAT(waits("nvls_tree", "all_reduce"), WithinRel(2.0 * tree_depth(nodes, 0), kExact));
    CHECK_THAT(waits("pat", "all_gather"), WithinRel(std::ceil(std::log2(nodes)), kExact));
    CHECK_THAT(waits("collnet_chain", "all_reduce"), WithinRel(1.0, kExact));
  }
}

}  // namespace linkcast::test::collective_plan_test
