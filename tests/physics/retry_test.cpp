// Links that send packets again, in closed form: rate, start-up, shared links, one direction, collectives, fabrics.
#include "sim/engine/solvers.hpp"
#include "sim/machine/edited.hpp"
#include "sim/machine/fabric.hpp"
#include "sim/machine/symmetry.hpp"
#include "sim/plan/channel_flows.hpp"
#include "sim/plan/cluster_message.hpp"
#include "sim/plan/transfer.hpp"
#include "sim/records/cable_kinds.hpp"
#include "tests/support/catch.hpp"

using namespace linkcast;
using activities::MoveBy;
using activities::PlannedTransfer;
using activities::ProblemBuilder;
using activities::Transfer;

namespace {

constexpr double kShare = 0.2;

Platform shipped(const std::string& name) {
  const std::string root = test::data_dir();
  return {read_topology(root + "/topologies/" + name + ".json"),
          read_calibration(root + "/models/params/" + name + ".json")};
}

std::unique_ptr<Platform> with(const Platform& base, const std::vector<std::string>& edits) {
  return std::make_unique<Platform>(
      edited_platform(base, parse_edits(edits), [](const std::string&) { return std::nullopt; }).platform);
}

std::string error_of(const Platform& base, const std::string& edit) {
  try {
    with(base, {edit});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

Transfer copy(const Platform& p, const std::string& from, const std::string& to, double bytes,
              const std::string& transport = "") {
  Transfer t;
  t.source = p.topology().find(from).value();
  t.target = p.topology().find(to).value();
  t.bytes = bytes;
  t.transport = transport;
  return t;
}

struct Timed {
  double seconds = 0, latency_s = 0;
};

/// All of them at once; the plan of the first.
Timed run(const Platform& p, const std::vector<Transfer>& transfers) {
  ProblemBuilder builder(p);
  std::vector<PlannedTransfer> plans;
  for (const Transfer& t : transfers) plans.push_back(builder.add(t));
  const Solution solution = make_solver("fluid")->run(builder.problem());
  return {solution.finish_s[static_cast<std::size_t>(plans.front().activities.back())], plans.front().latency_s};
}

/// Expected repetitions of a packet, each a round trip of the hop.
double held_up_s(double share, CableFamily family) { return share / (1 - share) * 2 * hop_s(family); }

const std::string kFlaky = "flaky gpu0-gpu1:0.2";

}  // namespace

TEST_CASE("a share of 0 changes no time", "[physics][retry]") {
  for (const std::string name : {"p100-dgx1", "v100-dgx1", "hgx-h200", "gx8"}) {
    const Platform base = shipped(name);
    std::vector<std::string> edits;
    for (const std::string& kind : base.wiring().cable_kinds()) edits.push_back("set cable." + kind + ".retry_rate=0");
    const auto same = with(base, edits);
    for (const double bytes : {64.0, 1048576.0, 1e9})
      for (const std::string to : {"gpu1", "gpu5", "cpu0", "gpu0"}) {
        if (!base.topology().find(to)) continue;
        CHECK(run(base, {copy(base, "gpu0", to, bytes)}).seconds ==
              run(*same, {copy(*same, "gpu0", to, bytes)}).seconds);
      }
  }
}

TEST_CASE("a copy needs 1 / (1 - p) bytes a byte, and p / (1 - p) round trips more", "[physics][retry]") {
  for (const std::string name : {"p100-dgx1", "v100-dgx1"}) {
    const Platform base = shipped(name);
    const auto flaky = with(base, {kFlaky});
    const double extra = held_up_s(kShare, CableFamily::kAccelerator);
    const Timed small = run(base, {copy(base, "gpu0", "gpu1", 8)}),
                held = run(*flaky, {copy(*flaky, "gpu0", "gpu1", 8)});
    CHECK_THAT(held.latency_s - small.latency_s, WithinRel(extra, 1e-9));
    CHECK_THAT(held.seconds - small.seconds, WithinRel(extra, 1e-2));  // 8 bytes take 0.1 ns
    const auto moving = [](const Platform& p) {
      return run(p, {copy(p, "gpu0", "gpu1", 2e9)}).seconds - run(p, {copy(p, "gpu0", "gpu1", 1e9)}).seconds;
    };
    CHECK_THAT(moving(*flaky) / moving(base), WithinRel(1 / (1 - kShare), 1e-9));
    // other cables carry what they did
    CHECK(run(*flaky, {copy(*flaky, "gpu0", "gpu2", 1e9)}).seconds ==
          run(base, {copy(base, "gpu0", "gpu2", 1e9)}).seconds);
  }
}

TEST_CASE("the hops of relayed and staged copies are held up one by one", "[physics][retry]") {
  const Platform base = shipped("v100-dgx1");
  const auto nvlinks = with(base, {"flaky nvlink:0.2"}), pcie = with(base, {"flaky pcie3:0.2"});
  const auto latency = [](const Platform& p, const std::string& transport) {
    return run(p, {copy(p, "gpu0", "gpu5", 8, transport)}).latency_s;
  };
  CHECK_THAT(latency(*nvlinks, "relay") - latency(base, "relay"),
             WithinRel(2 * held_up_s(kShare, CableFamily::kAccelerator), 1e-9));
  const activities::StagedRoute staged = activities::staged_route(base, base.gpu(0), base.gpu(5));
  int hops = 0;
  for (const auto* leg : {&staged.up, &staged.down})
    for (const int link : *leg)
      hops += is_pcie_cable(
          base.topology().cables[static_cast<std::size_t>(base.links()[static_cast<std::size_t>(link)].cable)].kind);
  REQUIRE(hops == 4);
  CHECK_THAT(latency(*pcie, "staged") - latency(base, "staged"),
             WithinRel(4 * held_up_s(kShare, CableFamily::kPcie), 1e-9));
}

TEST_CASE("one direction may send again while the other does not", "[physics][retry]") {
  const Platform base = shipped("p100-dgx1");
  const auto flaky = with(base, {"set link.gpu0->gpu1.retry_rate=0.2"});
  const auto seconds = [](const Platform& p, const std::string& from, const std::string& to) {
    return run(p, {copy(p, from, to, 1e9)}).seconds;
  };
  CHECK(seconds(*flaky, "gpu0", "gpu1") > 1.2 * seconds(base, "gpu0", "gpu1"));
  CHECK(seconds(*flaky, "gpu1", "gpu0") == seconds(base, "gpu1", "gpu0"));
}

TEST_CASE("copies that share a link that sends again share what is left", "[physics][retry]") {
  const Platform base = shipped("v100-dgx1");
  const auto flaky = with(base, {"flaky gpu0-gpu1:0.2"});
  const auto two = [](const Platform& p, double bytes) {
    std::vector<Transfer> both(2, copy(p, "gpu0", "gpu1", bytes));
    for (Transfer& t : both) t.by = MoveBy::kSm;
    return run(p, both).seconds;
  };
  const auto moving = [&](const Platform& p) { return two(p, 2e9) - two(p, 1e9); };
  CHECK_THAT(moving(*flaky) / moving(base), WithinRel(1 / (1 - kShare), 1e-9));
}

TEST_CASE("rings over a link that sends again are as slow as over a link that much slower", "[physics][retry]") {
  const Platform base = shipped("p100-dgx1");
  const auto flaky = with(base, {kFlaky}), slower = with(base, {"scale gpu0-gpu1:0.8"});
  const auto rate = [](const Platform& p) {
    const ProblemBuilder builder(p);
    const std::vector<Hop> ring = {{0, 1, HopKind::kPeer, -1}, {1, 2, HopKind::kPeer, -1}, {2, 0, HopKind::kPeer, -1}};
    Problem problem = builder.problem();
    problem.activities.push_back(
        activities::channel_activity(builder, ring, {1e9, 1, std::numeric_limits<double>::infinity()}));
    return 1e9 / make_solver("fluid")->run(problem).makespan_s;
  };
  CHECK_THAT(rate(*flaky), WithinRel((1 - kShare) * rate(base), 1e-9));
  CHECK_THAT(rate(*flaky), WithinRel(rate(*slower), 1e-9));
}

TEST_CASE("GPUs at a link that sends again are not taken for others", "[physics][retry]") {
  const Platform base = shipped("dgx2");
  const std::vector<int> colours(static_cast<std::size_t>(base.gpu_count()), 0);
  const auto moved = [&](const Platform& p) {
    int count = 0;  // symmetries that give GPU 0 the place of another
    for (const GpuPermutation& one : gpu_symmetries(p, colours)) count += one[0] != 0;
    return count;
  };
  CHECK(moved(base) > 0);
  for (const Cable& cable : base.topology().cables)
    if (cable.a == base.gpu(0) || cable.b == base.gpu(0)) {
      INFO(cable.id);
      CHECK(moved(*with(base, {"set cable." + cable.kind + "@" + cable.id + ".retry_rate=0.2"})) == 0);
    }
}

TEST_CASE("links between nodes send again as well", "[physics][retry]") {
  const Platform base = shipped("lumi");
  const auto flaky = with(base, {"flaky slingshot:0.2"});
  struct Asked {
    double seconds, latency_s, fabric_s;
  };
  const auto ask = [](const Platform& node, double bytes) {
    std::vector<std::string> nics;
    for (const int nic : build_fabric(node.wiring()).nics)
      nics.push_back(node.wiring().devices[static_cast<std::size_t>(nic)].id);
    const Cluster cluster(node, make_fabric(node.wiring()), FabricRouting::kMinimal, nics);
    activities::ClusterProblem problem(cluster);
    activities::Message message;
    message.from = {0, node.gpu(0)};
    message.to = {1, node.gpu(0)};
    message.bytes = bytes;
    const auto plan = activities::add_message(problem, message, {});
    double fabric_s = 0;
    for (const int key : plan.links)
      if (key >= cluster.key_of_fabric_link(0)) {
        const FabricLink link = cluster.fabric().link(key - cluster.key_of_fabric_link(0));
        fabric_s += cluster.fabric().classes()[static_cast<std::size_t>(link.link_class)].latency.si;
      }
    return Asked{make_solver("fluid")->run(problem.problem()).makespan_s, plan.latency_s, fabric_s};
  };
  const Asked small = ask(base, 8), held = ask(*flaky, 8);
  REQUIRE(small.fabric_s > 0);
  CHECK_THAT(held.latency_s - small.latency_s, WithinRel(kShare / (1 - kShare) * 2 * small.fabric_s, 1e-9));
  CHECK(ask(*flaky, 1e9).seconds > ask(base, 1e9).seconds);
  CHECK(ask(*flaky, 1e9).seconds < 1.26 * ask(base, 1e9).seconds);
}

TEST_CASE("a plane of an NVSwitch group that sends again holds up all of them", "[physics][retry]") {
  const Platform base = shipped("hgx-h200");
  std::string cable;
  for (const Cable& one : base.wiring().cables)
    if (is_accelerator_cable(one.kind) && cable.empty()) cable = one.id;
  const auto flaky = with(base, {"flaky " + cable + ":0.2"});
  const auto moving = [](const Platform& p) {
    return run(p, {copy(p, "gpu0", "gpu1", 2e9)}).seconds - run(p, {copy(p, "gpu0", "gpu1", 1e9)}).seconds;
  };
  CHECK_THAT(moving(*flaky) / moving(base), WithinRel(1 / (1 - kShare), 1e-9));
}

TEST_CASE("refused: shares that are none, cables that are not there", "[physics][retry]") {
  const Platform base = shipped("p100-dgx1");
  CHECK(error_of(base, "flaky gpu0-gpu1:1") == "edit 'flaky gpu0-gpu1:1': '1' is not a share from 0 to 0.999");
  CHECK(error_of(base, "flaky gpu0-gpu1:-0.1") == "edit 'flaky gpu0-gpu1:-0.1': '-0.1' is not a share from 0 to 0.999");
  CHECK(error_of(base, "flaky gpu0-gpu1") ==
        "edit 'flaky gpu0-gpu1': write flaky CABLE:SHARE or KIND:SHARE (e.g. flaky "
        "gpu0-gpu4:0.05)");
  CHECK(error_of(base, "flaky gpu0-gpu6:0.1").find("edit 'flaky gpu0-gpu6:0.1': no such cable; at gpu0") == 0);
  CHECK(error_of(base, "flaky xbus:0.1")
            .find("edit 'flaky xbus:0.1': no cable is of such a kind: one of ib_edr, nvlink1") == 0);
  CHECK(error_of(base, "set cable.nvlink1.retry_rate=1").find("must be below 1") != std::string::npos);
  CHECK(error_of(base, "set cable.xbus.retry_rate=0.1").find("names no transport, cable kind") != std::string::npos);
}
