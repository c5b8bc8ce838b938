// Channels, messages and their blocks as flows, against their closed forms: what each hop takes of each link, how
// blocks are shared out, how chunks queue for a link.
#include <algorithm>
#include <cmath>
#include <map>

#include "models/algorithms/tree_edges.hpp"
#include "sim/forecast/alignment.hpp"
#include "sim/forecast/collective_plan.hpp"
#include "sim/machine/binary_tree.hpp"
#include "sim/plan/channel_flows.hpp"
#include "sim/plan/channel_route.hpp"
#include "sim/plan/inside_path.hpp"
#include "sim/plan/message_rates.hpp"
#include "sim/plan/message_ways.hpp"
#include "sim/plan/mpi_costs.hpp"
#include "sim/plan/two_limits.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::channel_rates_test {

namespace {

using activities::MessageRates;
using activities::MoveBy;
using activities::ProblemBuilder;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kShare = (128.0 / 144) / (256.0 / 272);  // payload of a kernel's packets against a copy engine's

const Platform& shipped(const std::string& name) { return catalogue().machine(name)->lone_node().node(); }

std::map<int, double> weights(const Activity& activity) {
  std::map<int, double> found;
  for (const Use& use : activity.uses) found[use.constraint] += use.weight;
  return found;
}

double capacity(const Platform& platform, int link) {
  return platform.constraints()[static_cast<std::size_t>(link)].capacity.value;
}

/// Limit of kernels on the cable next to a GPU, both directions together.
int kernel_duplex_of_gpu(const Platform& platform, int gpu) {
  const int link = platform.to_host(platform.gpu(gpu)).links.front();
  return platform.kernel_duplex_of(platform.links()[static_cast<std::size_t>(link)].cable);
}

}  // namespace

TEST_CASE("two limits of the same bytes: the larger alone, more than it where both are near", "[physics][channels]") {
  using activities::of_two_limits_s;
  CHECK(of_two_limits_s(0, 0) == 0);
  CHECK_THAT(of_two_limits_s(3e-6, 0), WithinRel(3e-6, kExact));
  CHECK_THAT(of_two_limits_s(0, 3e-6), WithinRel(3e-6, kExact));
  CHECK_THAT(of_two_limits_s(2e-6, 2e-6), WithinRel(2e-6 * std::sqrt(std::cbrt(2)), kExact));
  CHECK_THAT(of_two_limits_s(1e-6, 2e-6), WithinRel(1e-6 * std::sqrt(std::cbrt(65)), kExact));  // 1 and 64
  for (const double other : {1e-9, 0.2, 0.9, 1.0, 1.3, 1e9}) {
    const double both = of_two_limits_s(1, other);
    CHECK(both >= std::max(1.0, other));
    CHECK(both <= 1 + other);
    CHECK_THAT(of_two_limits_s(other, 1), WithinRel(both, kExact));
    CHECK_THAT(of_two_limits_s(1e-6, other * 1e-6), WithinRel(both * 1e-6, kExact));
    CHECK(of_two_limits_s(1, other * 1.01) >= both);
  }
  // two H200: sharpness 4 is too slow, 8 too fast
  CHECK(of_two_limits_s(1, 1) > std::pow(2, 1.0 / 8));
  CHECK(of_two_limits_s(1, 1) < std::pow(2, 1.0 / 4));
}

TEST_CASE("blocks of a group are shared out by the busiest rank, what it keeps included", "[physics][channels]") {
  const auto sent = [](int from, int to, int channels) {
    return MessageRates::Sent{{from, to, {1e6}}, {"Simple", channels, 16, 1}, 2e9};
  };
  // rank 0 sends 3 x 8 parts to 16 blocks: some block gets two, and the second takes half, since nothing comes back
  std::vector<MessageRates::Sent> scatter;
  for (const int to : {1, 2, 3}) scatter.push_back(sent(0, to, 8));
  CHECK_THAT(MessageRates(scatter, 4, 0).channels(scatter[0].choice), WithinRel(8 / 1.5, kExact));
  // a gather: rank 0 receives as many
  std::vector<MessageRates::Sent> gather;
  for (const int from : {1, 2, 3}) gather.push_back(sent(from, 0, 8));
  CHECK_THAT(MessageRates(gather, 4, 0).channels(gather[0].choice), WithinRel(8 / 1.5, kExact));
  // where a rank also sends, each part takes its own time
  std::vector<MessageRates::Sent> both = scatter;
  both.push_back(sent(3, 0, 1));
  CHECK(MessageRates(both, 4, 0).channels(both[0].choice) == 4);
  // with what it keeps 32 of 16: two to a block, one of which may be a copy, half the work; 33 parts would be three
  CHECK(MessageRates(both, 4, 1).channels(both[0].choice) == 4);
  CHECK(MessageRates(both, 4, 0.5).channels(both[0].choice) == 4);
  both.push_back(sent(0, 1, 1));
  CHECK(MessageRates(both, 4, 0).channels(both[0].choice) == 4);
  CHECK_THAT(MessageRates(both, 4, 1).channels(both[0].choice), WithinRel(8 / 3.0, kExact));
  CHECK_THAT(MessageRates(both, 4, 0.5).channels(both[0].choice), WithinRel(8 / 2.5, kExact));
  // two of eight are all 16: one each; with what is kept two, or one and a half
  const std::vector<MessageRates::Sent> pair = {sent(0, 1, 8), sent(0, 2, 8), sent(1, 0, 1)};
  CHECK(MessageRates(pair, 3, 0).channels(pair[0].choice) == 8);
  CHECK(MessageRates(pair, 3, 1).channels(pair[0].choice) == 4);
  CHECK_THAT(MessageRates(pair, 3, 0.5).channels(pair[0].choice), WithinRel(8 / 1.5, kExact));
  // an alltoall is that of each rank to each other
  CHECK(MessageRates(sent(0, 1, 8), 3, 0).channels(pair[0].choice) == 8);
  CHECK(MessageRates(sent(0, 1, 8), 3, 1).channels(pair[0].choice) == 4);
  CHECK(MessageRates(sent(0, 1, 8), 8, 1).channels(pair[0].choice) == 2);
  CHECK(MessageRates(sent(0, 1, 1), 64, 1).channels(sent(0, 1, 1).choice) == 0.25);  // four on each block
  const MessageRates rates(pair, 3, 0);
  CHECK_THAT(rates.rate_Bps(pair[0]), WithinRel(8 * 2e9, kExact));
  // sixteen of 2 GB/s would get 32 of a link that carries 10: half of them are of this message
  const double together = std::pow(std::pow(1 / 32e9, 6) + std::pow(1 / 10e9, 6), -1.0 / 6);
  CHECK_THAT(rates.rate_Bps(pair[0], 10e9, 16), WithinRel(together / 2, kExact));
  CHECK_THAT(rates.rate_Bps(pair[0], kInfinite, 16), WithinRel(8 * 2e9, kExact));
}

TEST_CASE("a channel is one flow over all its hops, in bytes stored", "[physics][channels]") {
  const Platform& dgx1 = shipped("p100-dgx1");
  const ProblemBuilder builder(dgx1);
  const auto link = [&](int from, int to) { return dgx1.peer_route(dgx1.gpu(from), dgx1.gpu(to))->links.front(); };
  const std::vector<Hop> ring = {{0, 1, HopKind::kPeer}, {1, 2, HopKind::kPeer}, {2, 0, HopKind::kPeer}};
  activities::ChannelLoad load{1e6, 0.5, 4e9};
  const Activity flow = activities::channel_activity(builder, ring, load);
  CHECK_THAT(flow.work_B, WithinRel(1e6 / 0.5 / kShare, kExact));
  CHECK_THAT(flow.rate_cap_Bps, WithinRel(4e9 / 0.5 / kShare, kExact));
  CHECK(weights(flow) == std::map<int, double>{{link(0, 1), 1}, {link(1, 2), 1}, {link(2, 0), 1}});
  // a relay takes both of its links; a hop that comes twice counts twice
  const std::vector<Hop> relayed = {{0, 5, HopKind::kRelay, 1}, {0, 1, HopKind::kPeer}};
  CHECK(weights(activities::channel_activity(builder, relayed, load)) ==
        std::map<int, double>{{link(0, 1), 2}, {link(1, 5), 1}});
  // through host memory: the ways up and down do not overlap, by host_wait of the quicker one
  const activities::StagedRoute way = activities::staged_route(dgx1, dgx1.gpu(0), dgx1.gpu(5));
  double up = kInfinite, down = kInfinite;
  for (const int one : way.up) up = std::min(up, capacity(dgx1, one));
  for (const int one : way.down) down = std::min({down, capacity(dgx1, one), dgx1.flow_cap(one)});
  for (const double wait : {0.0, 0.4, 1.0}) {
    activities::HopLinks links;
    const double cap_Bps = activities::add_hop(builder, {0, 5, HopKind::kHostMemory}, wait, links);
    CHECK_THAT(cap_Bps, WithinRel(1 / (1 / std::min(up, down) + wait / std::max(up, down)), kExact));
    CHECK(links.all.size() == way.up.size() + way.down.size());
    CHECK(links.peers.empty());
  }
  // links of hops between peers are listed twice, those of a relay leg by leg
  activities::HopLinks legs;
  activities::add_hop(builder, {0, 5, HopKind::kRelay, 1}, 1, legs);
  CHECK(legs.all == std::vector<int>{link(0, 1), link(1, 5)});
  CHECK(legs.peers == legs.all);
  load.host.wire = 1.3;
  load.rate_cap_Bps = kInfinite;
  const Activity host = activities::channel_activity(builder, {{0, 5, HopKind::kHostMemory}}, load);
  CHECK_THAT(host.rate_cap_Bps, WithinRel(1 / (1 / up + 1 / down) / 1.3, kExact));
  CHECK_THAT(host.work_B, WithinRel(1e6 / 0.5, kExact));
}

TEST_CASE("hops through host memory take PCIe and memory as their phases say", "[physics][channels]") {
  const Platform& h200 = shipped("hgx-h200");
  const ProblemBuilder builder(h200);
  const auto parameter = [&](const std::string& name) { return test::parameter("hgx-h200", name); };
  const int gpu = h200.gpu(0), link = h200.to_host(gpu).links.front(),
            cable = h200.links()[static_cast<std::size_t>(link)].cable;
  const activities::StagedRoute way = activities::staged_route(h200, gpu, h200.gpu(1));
  std::vector<int> links = way.up;
  links.insert(links.end(), way.down.begin(), way.down.end());
  const double stores = activities::host_kernel_Bps(h200, true), loads = activities::host_kernel_Bps(h200, false);
  const double duplex = parameter("cable.pcie5.kernel_duplex_Bps");
  const HostMemory& memory = h200.host_memory(h200.socket_of(gpu));
  const double write = parameter("host_memory.write_Bps"), read = parameter("host_memory.read_Bps"),
               both = parameter("host_memory.both_Bps");
  for (const int steps : {0, 1, 2, 7})
    for (const double part : {0.3, 0.8}) {
      INFO(steps << " " << part);
      Activity flow;
      flow.uses = activities::kernel_uses(builder, {links, {}});
      const std::map<int, double> before = weights(flow);
      activities::add_host_hops(h200, {{0, 1, HopKind::kHostMemory}}, {steps, 1.25, part}, flow.uses);
      const std::map<int, double> after = weights(flow);
      // links are taken for what kernels store and load of them
      const double up = std::min(capacity(h200, link), stores), down = std::min(capacity(h200, link ^ 1), loads);
      CHECK_THAT(after.at(link), WithinRel(before.at(link) * 1.25 * capacity(h200, link) / up, kExact));
      // both ways: one part up alone, one down alone, the others both ways at half of the joint limit
      const double each = duplex / 2, phases = steps == 0 ? 1 : (each / up + each / down + steps - 1) / steps;
      const int joint = h200.kernel_duplex_of(cable);
      CHECK_THAT(after.at(joint), WithinRel(before.at(joint) * 1.25 * phases, kExact));
      // memory: twice the share while all write or all read, at its limits for each; both ways each byte twice
      const double alone = std::min(1.0, 2 * part) * both * (1 / write + 1 / read);
      const double taken = steps == 0 ? 2 * part : (alone + 2 * part * (steps - 1)) / steps;
      CHECK_THAT(after.at(memory.both), WithinRel(1.25 * taken, kExact));
    }
}

// source: two L40S, NCCL 2.27 (calibrate/data/l40s/nccl-2.27.json): 19.6 and 20.1 GB/s on the bus at 512 MiB
TEST_CASE("kernels of peers on PCIe get more than kernels on host memory", "[physics][channels]") {
  const Platform& l40s = shipped("l40s");
  const ProblemBuilder builder(l40s);
  const double half = test::parameter("l40s", "cable.pcie4.kernel_duplex_Bps") / 2;
  const std::vector<Hop> there_and_back = {{0, 1, HopKind::kPeer}, {1, 0, HopKind::kPeer}};
  const Activity peers = activities::channel_activity(builder, there_and_back, {1e6, 1, 1e12});
  const int joint = kernel_duplex_of_gpu(l40s, 0);
  CHECK_THAT(capacity(l40s, joint) / weights(peers).at(joint), WithinRel(19.9e9, 0.1));
  // what copies of the host are limited to both ways is shared, and does not bind them
  const int copies =
      l40s.duplex_of(l40s.links()[static_cast<std::size_t>(l40s.to_host(l40s.gpu(0)).links.front())].cable);
  REQUIRE(copies >= 0);
  CHECK(capacity(l40s, copies) / weights(peers).at(copies) > capacity(l40s, joint) / weights(peers).at(joint));
  const std::vector<Hop> host = {{0, 1, HopKind::kHostMemory}, {1, 0, HopKind::kHostMemory}};
  const Activity staged = activities::channel_activity(builder, host, {1e6, 1, 1e12});
  CHECK(capacity(l40s, joint) / weights(staged).at(joint) <= half * 1.001);
}

TEST_CASE("multicast: what one head's part takes of each link", "[physics][channels]") {
  const Platform& h200 = shipped("hgx-h200");
  const ProblemBuilder builder(h200);
  const std::vector<int> members = {1, 2, 5, 6};
  const double request = 16.0 / 144;
  for (const bool loads : {false, true})
    for (const bool stores : {false, true}) {
      if (!loads && !stores) continue;
      const Activity flow = activities::multicast_activity(builder, members, 2, {1e6, loads, stores, 0.8});
      CHECK_THAT(flow.work_B, WithinRel(1e6 / kShare / 0.8, kExact));
      const std::map<int, double> taken = weights(flow);
      const auto at = [&](int key) { return taken.count(key) > 0 ? taken.at(key) : 0.0; };
      for (const int member : members) {
        const int to = member == 1 ? 2 : 1;
        const int out = h200.peer_route(h200.gpu(member), h200.gpu(to))->links.front(), in = out ^ 1;
        const double l = loads ? 1 : 0, s = stores ? 1 : 0, head = member == 2 ? 1 : 0;
        CHECK_THAT(at(out), WithinAbs(l * (1 + head * request) + s * head, 1e-12));
        CHECK_THAT(at(in), WithinAbs(l * (request + head) + s, 1e-12));
      }
    }
}

TEST_CASE("trees over nodes: bytes of every port, up and down, from every node to its parent", "[physics][channels]") {
  const Cluster& cluster = catalogue().machine("alps")->cluster();
  for (const int nodes : {2, 3, 5, 8, 13})
    for (const int which : {0, 1}) {
      INFO(nodes << " " << which);
      Communicator made;
      made.gpus = {0};
      made.nodes = nodes;
      const BinaryTree tree = double_binary_tree(nodes, which);
      activities::ClusterProblem problem(cluster);
      made.trees = {chain_of(0)};
      made.channels.assign(2, {});  // a block for each of the two trees between the nodes
      AlgorithmOn(cluster, made, "tree", "all_reduce", 2e6, 0.5).add_to(problem);
      REQUIRE(problem.problem().activities.size() == 4);
      for (const bool up : {true, false}) {
        std::map<int, double> taken;
        for (const Use& use : problem.problem().activities[static_cast<std::size_t>(2 * which + (up ? 0 : 1))].uses)
          taken[problem.key(use.constraint)] = use.weight;
        for (int node = 0; node < nodes; ++node) {
          const int port = cluster.key_of_fabric_link(2 * cluster.endpoint(node, cluster.nic_of(0)));
          const double children = static_cast<double>(tree.children[static_cast<std::size_t>(node)].size());
          const double parent = node == tree.root ? 0 : 1;
          CHECK_THAT(taken.count(port) ? taken.at(port) : 0, WithinAbs(2 * (up ? parent : children), 1e-9));
          CHECK_THAT(taken.count(port ^ 1) ? taken.at(port ^ 1) : 0, WithinAbs(2 * (up ? children : parent), 1e-9));
        }
      }
      int depth = 0;
      for (int node = 0; node < nodes; ++node) {
        int hops = 0;
        for (int at = node; tree.parent[static_cast<std::size_t>(at)] >= 0;
             at = tree.parent[static_cast<std::size_t>(at)])
          ++hops;
        depth = std::max(depth, hops);
      }
      CHECK(tree_depth(nodes, which) == depth);
      // of delays that grow with the node the largest sum from a leaf to the root counts
      const double most =
          tree_delay_s(cluster, made, chain_of(0), which, [&](int from, int) { return 1.0 + from / cluster.nics(); });
      double expected = 0;
      for (int node = 0; node < nodes; ++node) {
        double sum = 0;
        for (int at = node; tree.parent[static_cast<std::size_t>(at)] >= 0;
             at = tree.parent[static_cast<std::size_t>(at)])
          sum += 1 + at;
        expected = std::max(expected, tree.children[static_cast<std::size_t>(node)].empty() ? sum : 0);
      }
      CHECK_THAT(most, WithinRel(expected, kExact));
    }
}

TEST_CASE("aggregated trees and switches that reduce: bytes of every port, hops that delay", "[physics][channels]") {
  const Cluster& cluster = catalogue().machine("alps")->cluster();
  for (const int nodes : {2, 3, 6, 8}) {
    INFO(nodes);
    Communicator made;
    made.gpus = {0};
    made.nodes = nodes;
    Channel channel;
    channel.order = {0};
    made.channels = {channel};
    const auto port = [&](int node) { return 2 * cluster.endpoint(node, cluster.nic_of(0)); };
    const auto check_ports = [&](const activities::ClusterProblem& problem, const Activity& flow) {
      std::map<int, double> taken;
      for (const Use& use : flow.uses) taken[problem.key(use.constraint)] = use.weight;
      for (int node = 0; node < nodes; ++node) {  // each sends and receives its load once
        CHECK_THAT(taken.at(cluster.key_of_fabric_link(port(node))), WithinRel(2, 1e-9));
        CHECK_THAT(taken.at(cluster.key_of_fabric_link(port(node) + 1)), WithinRel(2, 1e-9));
      }
    };
    activities::ClusterProblem trees(cluster);
    AlgorithmOn(cluster, made, "pat", "all_gather", 1e6, 0.5).add_to(trees);
    check_ports(trees, trees.problem().activities.front());
    activities::ClusterProblem reduced(cluster);
    AlgorithmOn(cluster, made, "collnet_chain", "all_reduce", 1e6, 0.5).add_to(reduced);
    check_ports(reduced, reduced.problem().activities.front());
    // a hop of each length from the first node; the farthest of all; all of a ring
    const auto number = [&](int from, int to) { return 100.0 * (from / cluster.nics()) + to / cluster.nics(); };
    double lengths = 0, round = 0;
    for (int length = 1; length < nodes; length *= 2) lengths += length;
    const auto first_byte_s = [&](const char* algorithm, const char* op) {
      return AlgorithmOn(cluster, made, algorithm, op).first_byte_s(number);
    };
    CHECK_THAT(first_byte_s("pat", "all_gather"), WithinRel(lengths, kExact));
    CHECK_THAT(first_byte_s("collnet_chain", "all_reduce"), WithinRel(nodes - 1.0, kExact));
    for (int node = 0; node < nodes; ++node) round += 100.0 * node + (node + 1) % nodes;
    // n - 1 of n steps of a ring; a chain once in 20 calls
    CHECK_THAT(first_byte_s("ring", "all_gather"), WithinRel(round * (nodes - 1) / nodes, kExact));
    CHECK_THAT(first_byte_s("ring", "broadcast"), WithinRel((round - 100.0 * (nodes - 1)) / 20, kExact));
  }
}

TEST_CASE("what is handed to another GPU's NIC takes NVLink for its part of the bytes", "[physics][channels]") {
  const Cluster& cluster = catalogue().machine("alps")->cluster();
  const Platform& node = cluster.node();
  Communicator made;
  made.gpus = {0, 1};
  made.nodes = 3;
  Channel channel;
  channel.order = {0};
  channel.in.nic = cluster.nic_of(1);
  channel.in.handover = Hop{0, 1, HopKind::kPeer};
  made.channels = {channel};
  activities::ClusterProblem problem(cluster);
  AlgorithmOn(cluster, made, "pat", "all_gather").add_to(problem);
  const int link = node.peer_route(node.gpu(0), node.gpu(1))->links.front();
  double handed = 0;
  for (const Use& use : problem.problem().activities.front().uses)
    if (problem.key(use.constraint) == cluster.key(0, link)) handed += use.weight;
  CHECK_THAT(handed, WithinRel(1 / kShare, kExact));  // all parts of the two lengths together are one
}

TEST_CASE("ways of messages: bytes stored a byte of payload", "[physics][channels]") {
  const Cluster& cluster = catalogue().machine("alps")->cluster();
  const Platform& node = cluster.node();
  const activities::MessageWays ways = activities::message_ways(cluster, {0, 2}, {}, 1.6);
  const int link = node.peer_route(node.gpu(0), node.gpu(2))->links.front();
  REQUIRE(ways.inside[0][1].uses.size() >= 1);
  double peer = 0;
  for (const Use& use : ways.inside[0][1].uses)
    if (use.constraint == link) peer = use.weight;
  CHECK_THAT(peer, WithinRel(1.6 / kShare, kExact));
  CHECK(ways.inside[0][0].uses.empty());
  for (const Use& use : ways.out[1][0].uses) CHECK_THAT(use.weight, WithinRel(1.6, kExact));
  for (const Use& use : ways.in[1].uses) CHECK_THAT(use.weight, WithinRel(1.6, kExact));
  // where no peer access joins them, host memory limits what one message stores
  const Platform& dgx1 = shipped("p100-dgx1");
  const Cluster alone(dgx1);
  activities::HopLinks hop;
  CHECK(std::isfinite(activities::add_hop(ProblemBuilder(dgx1), {0, 5, HopKind::kHostMemory}, 1, hop)));
}

TEST_CASE("costs of processes: copies of their own, reductions, on GPUs that nobody measured too",
          "[physics][channels]") {
  const Platform& h200 = shipped("hgx-h200");
  const TransportModel& local = h200.transports().get("local");
  const double issue = activities::issue_and_wait_s(h200, false);
  const Pace pace = local.pace(1e9, kInfinite);
  CHECK_THAT(activities::own_copy_s(h200, 1e9), WithinRel(pace.delay_s + 1e9 / pace.cap_Bps + issue, kExact));
  const activities::CombineCost gpu = activities::combine_cost(h200, "mpi-openmpi", false);
  // a kernel that loads twice and stores once, against a copy's one and one
  CHECK_THAT(gpu.rate_Bps, WithinRel(2.0 / 3 * local.regimes.back().rate_cap->value, kExact));
  CHECK_THAT(gpu.start_s, WithinRel((local.regimes.back().flat ? 0 : local.regimes.back().startup.value) +
                                        activities::issue_and_wait_s(h200, true),
                                    kExact));
  activities::CombineCost cost{4e-6, 10e9, {1e-6, 1e9, 4096}, false, {}};
  CHECK_THAT(cost.time_s(4096), WithinRel(1e-6 + 4096 / 1e9, kExact));
  CHECK_THAT(cost.time_s(4097), WithinRel(4e-6 + 4097 / 10e9, kExact));
  CHECK_THAT(cost.adding_s(4096), WithinRel(4096 / 1e9, kExact));
  const Platform& lumi = catalogue().machine("lumi")->cluster().node();
  const auto access = activities::cpu_access(lumi, lumi.gpu(0));
  REQUIRE(access);
  CHECK_THAT(activities::own_copy_s(lumi, 1000), WithinRel(access->start_s + 1000 / access->rate_Bps, kExact));
  const activities::InsidePath path = activities::inside_path(lumi, lumi.gpu(0), lumi.gpu(1));
  REQUIRE(path.model.regimes.size() == 2);
  CHECK(path.model.regimes[0].to_B == access->up_to_B);
  // 0.7 us to tell the other process, assumed in sim/plan/inside_path.cpp
  CHECK_THAT(path.model.regimes[0].startup.value, WithinRel(0.7e-6 + access->start_s, kExact));
  CHECK_FALSE(activities::cpu_access(h200, h200.gpu(0)));
}

TEST_CASE("widths of accesses: parts that begin at multiples of 4, 8 and 16 bytes", "[physics][channels]") {
  for (const auto& [distance, width] :
       {std::pair{0.0, 16}, {16.0, 16}, {24.0, 8}, {20.0, 4}, {17.0, 16}, {19.9, 16}, {22.0, 4}, {1048576.0, 16}})
    CHECK(collective::access_width_B(distance) == width);
  // part k of parts of 12 bytes (of single numbers) begins at 12 k numbers
  for (const auto& [part, width] : {std::pair{0, 16}, {1, 16}, {2, 16}})
    CHECK(collective::part_width_B(part, 16) == width);
  CHECK(collective::part_width_B(1, 20) == collective::access_width_B(20));
  CHECK(collective::part_width_B(2, 20) == 8);
  CHECK(collective::part_width_B(4, 20) == 16);
  CHECK(collective::part_width_B(2, 21.9) == 8);
  for (const int distinct : {1, 3, 4})
    for (const int all : {1, 5, 8, 12}) {
      int sum = 0, least = all, most = 0;
      for (int i = 0; i < distinct; ++i) {
        const int one = collective::blocks_on(i, distinct, all);
        sum += one, least = std::min(least, one), most = std::max(most, one);
      }
      CHECK(sum == all);
      CHECK(most - least <= 1);
    }
}

}  // namespace linkcast::test::channel_rates_test
