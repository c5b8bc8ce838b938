// Messages between nodes worked out by hand: ranges of size, several NICs, counts, waits, staged copies in turn, slow
// cards; on nodes of two GPUs and two NICs at one switch.
#include <cmath>
#include <map>

#include "sim/engine/solvers.hpp"
#include "sim/plan/cluster_message.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fabric_examples.hpp"

namespace linkcast::test::message_times_test {

namespace {

constexpr double kUp = 100e9, kPort = 24e9;  // of PCIe; of each card, what messages were measured to have of 25 GB/s

struct Nodes {
  explicit Nodes(const std::map<std::string, double>& more = {}, double slow = 1)
      : platform(topology(slow), calibration(more)),
        cluster(platform, test::build_fabric("single_switch", test::keys({{"nodes", 4}, {"radix", 8}}), {"host"}, 2),
                FabricRouting::kMinimal, {"nic0", "nic1"}) {}

  static Topology topology(double slow) {
    Topology t;
    t.name = "made";
    const auto device = [&](const std::string& id, DeviceKind kind) {
      Device d;
      d.id = id;
      d.kind = kind;
      d.sm = kind == DeviceKind::kGpu ? 80 : 0;
      d.slow = id == "nic1" ? slow : 1;
      t.devices.push_back(d);
    };
    device("gpu0", DeviceKind::kGpu);
    device("gpu1", DeviceKind::kGpu);
    device("cpu0", DeviceKind::kCpu);
    device("nic0", DeviceKind::kNic);
    device("nic1", DeviceKind::kNic);
    for (const int end : {0, 1, 3, 4}) {
      Cable cable;
      cable.a = end;
      cable.b = 2;
      cable.kind = "pcie5";
      cable.id = t.devices[static_cast<std::size_t>(end)].id + "-cpu0";
      cable.bandwidth.si = kUp;
      t.cables.push_back(cable);
    }
    return t;
  }
  static Calibration calibration(const std::map<std::string, double>& more) {
    Calibration c;
    c.name = c.topology = "made";
    std::map<std::string, double> values = {{"mpi_network.r0.startup_s", 2e-6},
                                            {"mpi_network.r0.bandwidth_Bps", 3e9},
                                            {"mpi_network.r0.to_B", 4096},
                                            {"mpi_network.r1.startup_s", 3e-6},
                                            {"mpi_network.r1.bandwidth_Bps", 40e9},
                                            {"gpudirect_rdma.r0.startup_s", 4e-6},
                                            {"gpudirect_rdma.r0.bandwidth_Bps", kPort},
                                            {"mpi_network_host.r0.startup_s", 1.5e-6},
                                            {"mpi_network_host.r0.bandwidth_Bps", 12e9},
                                            {"d2h.r0.startup_s", 5e-6},
                                            {"h2d.r0.startup_s", 6e-6}};
    for (const auto& [name, value] : more) values[name] = value;
    for (const auto& [name, value] : values) c.parameters["transport." + name] = {value, 0.03 * value, "", "fitted"};
    c.valid_to_B = 1e9;
    return c;
  }
  /// From GPU or CPU `from` of node 0 to `to` of node 1, so many at once.
  [[nodiscard]] double time(activities::Message message, int at_once = 1) {
    activities::ClusterProblem problem(cluster);
    for (int i = 0; i < at_once; ++i) plan = activities::add_message(problem, message);
    const Solution solution = make_solver("fluid")->run(problem.problem());
    carried.clear();
    for (std::size_t c = 0; c < solution.carried_B.size(); ++c)
      carried[problem.key(static_cast<int>(c))] = solution.carried_B[c];
    return solution.finish_s[static_cast<std::size_t>(plan.activity)];
  }
  /// Bytes that left node 0 by a card.
  [[nodiscard]] double left_by(int nic) { return carried[cluster.key_of_fabric_link(2 * cluster.endpoint(0, nic))]; }

  Platform platform;
  Cluster cluster;
  activities::PlannedMessage plan;
  std::map<int, double> carried;
};

activities::Message message(double bytes, int from = 0, int to = 0) {
  activities::Message made;
  made.from = {0, from};
  made.to = {1, to};
  made.bytes = bytes;
  return made;
}

}  // namespace

TEST_CASE("by hand: messages between GPUs, by one card and by two", "[physics][messages]") {
  Nodes nodes;
  for (const double n : {1.0, 4096.0}) CHECK_THAT(nodes.time(message(n)), WithinRel(2e-6 + n / 3e9, kExact));
  CHECK(nodes.plan.nics == 1);
  CHECK(nodes.plan.transport == "mpi_network");
  CHECK_THAT(nodes.plan.latency_s, WithinRel(2e-6, kExact));
  CHECK_THAT(nodes.plan.rate_error, WithinRel(0.03, kExact));
  CHECK_THAT(nodes.plan.delay_error_s, WithinRel(0.03 * 2e-6, kExact));
  for (const double n : {1e6, 1e9}) {
    CHECK_THAT(nodes.time(message(n)), WithinRel(3e-6 + n / 40e9, kExact));
    CHECK(nodes.plan.nics == 2);
    CHECK_THAT(nodes.left_by(0), WithinRel(n / 2, kExact));
    CHECK_THAT(nodes.left_by(1), WithinRel(n / 2, kExact));
    // two at once fill both cards
    CHECK_THAT(nodes.time(message(n), 2), WithinRel(3e-6 + 2 * n / (2 * kPort), kExact));
    activities::Message several = message(n);
    several.count = 5;
    several.wait_s = 7e-6;
    CHECK_THAT(nodes.time(several), WithinRel(10e-6 + 5 * n / 40e9, kExact));
    CHECK_THAT(nodes.left_by(1), WithinRel(5 * n / 2, kExact));
    CHECK_THAT(nodes.plan.latency_s, WithinRel(2e-6, kExact));
  }
  // never below the end of the smaller sizes
  CHECK_THAT(nodes.time(message(4097)), WithinRel(std::max(2e-6 + 4096 / 3e9, 3e-6 + 4097 / 40e9), kExact));
  activities::Message direct = message(1e6);
  direct.transport = "gpudirect_rdma";
  CHECK_THAT(nodes.time(direct), WithinRel(4e-6 + 1e6 / kPort, kExact));
  CHECK(nodes.plan.nics == 1);
}

TEST_CASE("by hand: messages between hosts, by as many cards as they are said to use", "[physics][messages]") {
  Nodes nodes;
  activities::Message hosts = message(1e6, 2, 2);
  CHECK_THAT(nodes.time(hosts), WithinRel(1.5e-6 + 1e6 / 12e9, kExact));
  CHECK(nodes.plan.nics == 1);
  hosts.nics = 2;
  CHECK_THAT(nodes.time(hosts, 4), WithinRel(1.5e-6 + 4e6 / std::min(4 * 12e9, 2 * kPort), kExact));
  CHECK(nodes.plan.nics == 2);
  hosts.nics = 9;  // no more than there are
  CHECK_THAT(nodes.time(hosts), WithinRel(1.5e-6 + 1e6 / 12e9, kExact));
  CHECK(nodes.plan.nics == 2);
}

TEST_CASE("by hand: a slow card slows what it shares in", "[physics][messages]") {
  Nodes nodes({}, 2);
  CHECK_THAT(nodes.time(message(4096)), WithinRel(2e-6 + 4096 / 3e9, kExact));  // by the other card
  CHECK_THAT(nodes.time(message(4096, 1, 1)), WithinRel(2e-6 + 4096 / 1.5e9, kExact));
  CHECK_THAT(nodes.time(message(1e6)), WithinRel(3e-6 + 1e6 / 20e9, kExact));
  CHECK(nodes.plan.slow == 2);
}

TEST_CASE("by hand: staged messages of copies and a message between hosts, in turn", "[physics][messages]") {
  for (const double n : {1.0, 1e6}) {
    Nodes made;
    activities::Message staged = message(n, 0, 1);
    staged.transport = "pinned";
    staged.wait_s = 2e-6;
    const double out = 5e-6 + n / kUp, across = 1.5e-6 + n / 12e9, in = 6e-6 + n / kUp;
    CHECK_THAT(made.time(staged), WithinRel(2e-6 + out + across + in, kExact));
    CHECK(made.plan.warning.find("pinned") != std::string::npos);
    staged.count = 3;
    CHECK_THAT(made.time(staged), WithinRel(2e-6 + 12.5e-6 + 3 * (2 * n / kUp + n / 12e9), kExact));
    // measured as a start-up alone: what a message between hosts does not explain of it is before the copy out
    Nodes known({{"pinned.r0.startup_s", 9e-6}});
    staged.count = 1;
    CHECK_THAT(known.time(staged), WithinRel(2e-6 + 7.5e-6 + n / kUp + across + n / kUp, kExact));
    CHECK_THAT(known.plan.delay_error_s, WithinRel(0.03 * 9e-6, kExact));
    CHECK(known.plan.warning.empty());
    // written into the target's GPU by the network: no copy there, at the rate of such messages
    staged.transport = "pinned_source";
    CHECK_THAT(known.time(staged), WithinRel(2e-6 + 7.5e-6 + n / kUp + 1.5e-6 + n / kPort, kExact));
  }
  CHECK_FALSE(activities::staged_in_turn(
      Nodes({{"pinned.r0.startup_s", 9e-6}, {"pinned.r0.bandwidth_Bps", 5e9}}).platform, "pinned"));
}

TEST_CASE("refused: messages that were never measured", "[physics][messages]") {
  Nodes nodes;
  activities::Message odd = message(8);
  odd.transport = "unpinned";
  CHECK_THROWS_AS(nodes.time(odd), InputError);
  CHECK(activities::endpoints_of(nodes.cluster, message(8)) == std::pair(0, 2));
  CHECK(activities::endpoints_of(nodes.cluster, message(8, 1, 0)) == std::pair(1, 2));
}

}  // namespace linkcast::test::message_times_test
