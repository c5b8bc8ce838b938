// Schedules of messages where rounds are posted together, do not divide evenly, or differ in size; their start-ups and
// reductions; and what many messages are as one: on a star, where every time can be written down.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "sim/engine/solvers.hpp"
#include "sim/forecast/algorithm.hpp"
#include "sim/machine/collective.hpp"
#include "sim/machine/library.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/schedule_run.hpp"
#include "sim/plan/staging_copies.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fabric_examples.hpp"
#include "tests/support/scratch_folder.hpp"

namespace linkcast::test::schedule_times_test {

namespace {

using activities::Rounds;

constexpr double kAlpha_s = 2e-6, kRate_Bps = 10e9, kStart_s = 3e-6, kCombine_Bps = 40e9, kSize_B = 48e6;

/// One GPU and one NIC a node, all NICs at one switch.
struct Star {
  explicit Star(int nodes)
      : platform(topology(), calibration()), cluster(platform, fabric(nodes), FabricRouting::kMinimal, {"nic0"}) {
    for (int n = 0; n < nodes; ++n) ranks.push_back({n, platform.gpu(0)});
  }
  static Topology topology() {
    const ScratchFolder folder;
    const auto path = (folder / "star.json").string();
    std::ofstream(path) << R"({"schema": "topology/1", "name": "star", "title": "star", "source": "test",
      "pcie_peer": "none", "devices": [{"id": "gpu0", "kind": "gpu", "model": "test", "sm": 80},
      {"id": "cpu0", "kind": "cpu", "model": "test", "vendor": "amd"}, {"id": "nic0", "kind": "nic", "model": "test"}],
      "cables": [{"between": ["gpu0", "cpu0"], "kind": "pcie4", "count": 1, "bandwidth": "30 GB/s", "source": "test"},
      {"between": ["nic0", "cpu0"], "kind": "pcie4", "count": 1, "bandwidth": "30 GB/s", "source": "test"}]})";
    return read_topology(path);
  }
  static Calibration calibration() {
    Calibration made;
    made.name = made.topology = "star";
    const auto set = [&](const std::string& name, double value, const char* unit) {
      made.parameters["transport." + name] = {value, 0.02 * value, unit, "fitted"};
    };
    set("mpi_network.r0.startup_s", kAlpha_s, "s");
    set("mpi_network.r0.bandwidth_Bps", kRate_Bps, "B/s");
    set("d2h.r0.startup_s", 5e-6, "s");
    set("h2d.r0.startup_s", 6e-6, "s");
    made.valid_to_B = 1e9;
    return made;
  }
  /// Its ports carry what messages were measured to have.
  static std::unique_ptr<const Fabric> fabric(int nodes) {
    return test::build_fabric("single_switch", test::keys({{"nodes", nodes}, {"radix", nodes}}), {"host"});
  }
  [[nodiscard]] activities::ScheduleJob job() const {
    activities::ScheduleJob made{cluster, ranks, 1, kSize_B, {kStart_s, kCombine_Bps, {}, false, {}}};
    made.costs.post_s = post_s;
    made.costs.eager_B = eager_B;
    return made;
  }
  [[nodiscard]] Schedule schedule(const std::string& algorithm, const std::string& op) const {
    return algorithms().get(algorithm).schedule(op, static_cast<int>(ranks.size()));
  }
  [[nodiscard]] activities::ScheduleTimes times(const Schedule& schedule, Rounds rounds = Rounds::kAll) const {
    return activities::run_schedule(job(), schedule, *solver, rounds);
  }
  [[nodiscard]] activities::ScheduleTimes times(const std::string& algorithm, const std::string& op,
                                                Rounds rounds = Rounds::kAll) const {
    return times(schedule(algorithm, op), rounds);
  }
  double post_s = 0, eager_B = 0;
  Platform platform;
  Cluster cluster;
  std::vector<activities::ClusterEnd> ranks;
  std::unique_ptr<Solver> solver = make_solver("fluid");
};

Phase phase_of(int rounds, int at_once, std::function<std::vector<ScheduledMessage>(int)> messages) {
  Phase phase;
  phase.rounds = rounds;
  phase.at_once = at_once;
  phase.add = [messages](int round, bool, std::vector<ScheduledMessage>& out) {
    for (const ScheduledMessage& one : messages(round)) out.push_back(one);
  };
  return phase;
}

}  // namespace

TEST_CASE("a star: start-ups and reductions along the longest chain of messages", "[physics][schedule]") {
  const double move = kSize_B / kRate_Bps, add = kSize_B / kCombine_Bps;
  for (const int n : {2, 3, 5, 8, 12})
    for (const Rounds rounds : {Rounds::kAll, Rounds::kSteady}) {
      const Star star(n);
      INFO(n << (rounds == Rounds::kAll ? "" : " steady"));
      const double part = (n - 1.0) / n, log = std::floor(std::log2(n)), fold = std::exp2(log) < n ? 1 : 0;
      const auto ring = star.times("ring", "all_reduce", rounds);
      CHECK_THAT(ring.time_s, WithinRel((n - 1) * (2 * kAlpha_s + kStart_s) + part * (2 * move + add), kExact));
      CHECK_THAT(ring.latency_s, WithinRel((n - 1) * (2 * kAlpha_s + kStart_s), kExact));
      CHECK_THAT(ring.delay_error_s, WithinRel((n - 1) * 2 * 0.02 * kAlpha_s, kExact));  // reductions have their own
      CHECK_THAT(ring.combine_s, WithinRel((n - 1) * kStart_s + part * add, kExact));
      CHECK(ring.rounds == 2 * (n - 1));
      CHECK(ring.steady == (rounds == Rounds::kSteady));
      if (rounds == Rounds::kAll)
        CHECK_THAT(ring.transport_B.at("mpi_network"), WithinRel(2 * part * n * kSize_B, kExact));
      const auto doubling = star.times("recursive_doubling", "all_reduce", rounds);
      CHECK_THAT(doubling.latency_s, WithinRel((log + 2 * fold) * kAlpha_s + (log + fold) * kStart_s, kExact));
      CHECK_THAT(doubling.delay_error_s, WithinRel((log + 2 * fold) * 0.02 * kAlpha_s, kExact));
      CHECK_THAT(doubling.combine_s, WithinRel((log + fold) * (kStart_s + add), kExact));
      const auto gather = star.times("binomial", "gather", rounds);
      CHECK_THAT(gather.latency_s, WithinRel(std::ceil(std::log2(n)) * kAlpha_s, kExact));
      CHECK(gather.combine_s == 0);
      CHECK_THAT(ring.rate_error, WithinRel(0.02, kExact));
    }
}

TEST_CASE("a star: rounds that are posted together, the last ones fewer", "[physics][schedule]") {
  // 39 rounds in groups of 32 and 7; all of a group leave by one port
  const int n = 40;
  const double part = kSize_B / n;
  const Star star(n);
  const auto group = [&](int messages) { return kAlpha_s + part * messages / kRate_Bps; };
  for (const Rounds rounds : {Rounds::kAll, Rounds::kSteady, Rounds::kAsMany}) {
    const auto found = star.times("scattered", "alltoall", rounds);
    CHECK_THAT(found.time_s, WithinRel(group(32) + group(7), 1e-6));
    CHECK_THAT(found.latency_s, WithinRel(2 * kAlpha_s, kExact));
    CHECK(found.rounds == 2);
    CHECK_THAT(found.transport_B.at("mpi_network"), WithinRel(n * (n - 1) * part, kExact));
  }
  // posting takes longer than the messages: each waits for as many posts as there are before it in its group
  Star slow(n);
  slow.post_s = 1e-3;
  CHECK_THAT(slow.times("scattered", "alltoall").time_s,
             WithinRel(31e-3 + 6e-3 + 2 * (kAlpha_s + part / kRate_Bps), 1e-6));
  CHECK_THAT(slow.times("scattered", "alltoall").latency_s, WithinRel(37e-3 + 2 * kAlpha_s, 1e-9));
}

TEST_CASE("a star: what many messages are as one in steady state", "[physics][schedule]") {
  const int n = 8;
  const Star star(n);
  const auto steady = star.times("linear", "alltoall", Rounds::kSteady);
  // seven messages of an eighth leave by each port at once: it limits
  CHECK_THAT(steady.time_s, WithinRel(kAlpha_s + 7.0 / 8 * kSize_B / kRate_Bps, kExact));
  CHECK_THAT(steady.chain_B, WithinRel(kSize_B / 8, kExact));
  REQUIRE(steady.limit_B.size() == 2 * static_cast<std::size_t>(n));  // all ports, both ways
  for (const auto& [key, bytes] : steady.limit_B) CHECK_THAT(bytes, WithinRel(7.0 / 8 * kSize_B, kExact));
  steady.load_B.each([](int, double bytes) { CHECK_THAT(bytes, WithinRel(7.0 / 8 * kSize_B, kExact)); });
  const auto pairs = star.times("pairwise", "alltoall", Rounds::kSteady);
  CHECK_THAT(pairs.chain_B, WithinRel(7.0 / 8 * kSize_B, kExact));
  // a gather: the root's port takes all of them, others send one each
  const auto gather = star.times("linear", "gather", Rounds::kSteady);
  CHECK_THAT(gather.time_s, WithinRel(kAlpha_s + 7.0 / 8 * kSize_B / kRate_Bps, kExact));
  CHECK(gather.limit_B.size() == 1);
}

TEST_CASE("a star: eager messages are reduced when their receiver has come to that round", "[physics][schedule]") {
  Star star(2);
  star.eager_B = kSize_B;
  const double move = kSize_B / kRate_Bps, add = kSize_B / kCombine_Bps;
  // one message: it arrives, then it is added
  const Schedule one{1, {phase_of(1, 1, [](int) { return std::vector<ScheduledMessage>{{0, 1, 1, true}}; })}};
  auto found = star.times(one);
  CHECK_THAT(found.time_s, WithinRel(kAlpha_s + move + kStart_s + add, kExact));
  CHECK_THAT(found.latency_s, WithinRel(kAlpha_s + kStart_s, 1e-6));
  CHECK_THAT(found.combine_s, WithinRel(kStart_s + add, kExact));
  star.post_s = 1e-4;
  // two of them, posted one after the other: the second is posted late; both are added one after the other
  const Schedule two{1, {phase_of(2, 1, [](int) { return std::vector<ScheduledMessage>{{0, 1, 1, true}}; })}};
  found = star.times(two);
  // the second leaves after the first was posted, and is added after the first
  CHECK(found.time_s > kAlpha_s + move + 2 * (kStart_s + add) - 1e-9);
  CHECK(found.time_s < 2 * (kAlpha_s + move + kStart_s + add) + star.post_s);
  CHECK_THAT(found.combine_s, WithinRel(2 * (kStart_s + add), kExact));
  star.eager_B = kSize_B - 1;  // just above the limit they wait for each other, and are added before the next
  CHECK_THAT(star.times(two).time_s, WithinRel(2 * (kAlpha_s + move + kStart_s + add), kExact));
}

TEST_CASE("a star: messages that differ in size, and rounds that end with more of them", "[physics][schedule]") {
  const Star star(4);
  const double whole = kSize_B / kRate_Bps;
  // rounds of one, then two, then three senders; the largest of each decides
  const Schedule growing{1, {phase_of(3, 1, [](int round) {
                           std::vector<ScheduledMessage> messages;
                           for (int r = 1; r <= round + 1; ++r) messages.push_back({r, r - 1, 0.25 * r, false});
                           return messages;
                         })}};
  for (const Rounds rounds : {Rounds::kAll, Rounds::kSteady})
    CHECK_THAT(star.times(growing, rounds).time_s, WithinRel(3 * kAlpha_s + (0.25 + 0.5 + 0.75) * whole, kExact));
  CHECK_THAT(star.times(growing).transport_B.at("mpi_network"), WithinRel((0.25 + 0.75 + 1.5) * kSize_B, kExact));
  CHECK_THAT(star.times(growing, Rounds::kSteady).chain_B, WithinRel(1.5 * kSize_B, kExact));
}

TEST_CASE("more rounds than can be simulated are stood for by some, at both ends and between", "[physics][schedule]") {
  // 1,200 ranks: rounds of as many messages; the budget of messages in steady state is 100,000, so 83 rounds stand for
  // 1,199. All of them are alike here, so that time and bytes are those of all.
  const int n = 1200;
  const Star star(n);
  const auto found = star.times("pairwise", "alltoall", Rounds::kAsMany);
  CHECK(found.steady);
  CHECK(found.rounds == n - 1);
  CHECK_THAT(found.time_s, WithinRel((n - 1) * (kAlpha_s + kSize_B / n / kRate_Bps), kExact));
  CHECK_THAT(found.transport_B.at("mpi_network"), WithinRel((n - 1.0) * kSize_B, 0.95));
  CHECK_THAT(found.chain_B, WithinRel((n - 1.0) / n * kSize_B, kExact));
}

TEST_CASE("plans: bytes of the longest chain, loads by weight, places in a problem", "[physics][schedule]") {
  activities::Plan plan;
  const auto add = [&](double work_B, std::vector<Use> uses, std::vector<int> after) {
    Activity activity;
    activity.work_B = work_B;
    activity.uses = std::move(uses);
    activity.after = std::move(after);
    plan.activities.push_back(std::move(activity));
  };
  add(100, {{3, 2}, {activities::own_limit(0), 1}}, {});
  add(50, {{3, 1}, {5, 0.5}}, {0});
  add(70, {{5, 1}}, {0});
  add(10, {{0, 1}}, {1, 2});
  const Activity average = activities::average_of(plan);
  CHECK(average.work_B == 180);
  std::map<int, double> weights;
  for (const Use& use : average.uses) weights[use.constraint] = use.weight;
  CHECK(weights == std::map<int, double>{{0, 10.0 / 180}, {3, 250.0 / 180}, {5, 95.0 / 180}});

  const Cluster& node = catalogue().machine("hgx-h200")->lone_node();
  plan.own_limits.push_back({7e9, 3});
  plan.activities[0].queues = {5};
  activities::PlanProblem problem(node);
  const int constraints = static_cast<int>(node.node().constraints().size());
  CHECK(problem.add(plan) == std::vector<int>{0, 1, 2, 3});
  CHECK(problem.add(plan) == std::vector<int>{4, 5, 6, 7});
  CHECK(problem.problem().activities[7].after == std::vector<int>{5, 6});
  CHECK(problem.problem().queue_count == 6);
  const Use own = problem.problem().activities[4].uses[1];
  CHECK(own.constraint == constraints + 1);  // each plan has limits of its own
  CHECK(problem.problem().capacity_Bps[static_cast<std::size_t>(own.constraint)] == 7e9);
  CHECK(problem.key(own.constraint) == 3);
  CHECK(problem.problem().activities[4].uses[0].constraint == 3);
}

TEST_CASE("staging: which buffers each operation copies, on how many ranks", "[physics][schedule]") {
  const Star star(3);
  // sent and received parts of the buffer by the root and by others, of three ranks
  struct Expected {
    const char* op;
    double root_sends, root_gets, sends, gets;
  };
  const double third = 1.0 / 3;
  for (const Expected& expected : {Expected{"all_reduce", 1, 1, 1, 1}, Expected{"reduce_scatter", 1, third, 1, third},
                                   Expected{"all_gather", third, 1, third, 1}, Expected{"broadcast", 1, 0, 0, 1},
                                   Expected{"reduce", 1, 1, 1, 0}, Expected{"gather", third, 1, third, 0},
                                   Expected{"scatter", 1, third, 0, third}, Expected{"alltoall", 1, 1, 1, 1}}) {
    INFO(expected.op);
    std::vector<ClusterGpu> ranks;
    for (int n = 0; n < 3; ++n) ranks.push_back({n, 0});
    const activities::StagedBuffers buffers{ranks, collectives().get(expected.op), 3e6, Staging::kPinned, {}};
    activities::ClusterProblem in(star.cluster), out(star.cluster);
    activities::add_staging_copies(buffers, 3, in, out);
    double in_B = 0, out_B = 0;
    for (const Activity& one : in.problem().activities) in_B += one.work_B;
    for (const Activity& one : out.problem().activities) out_B += one.work_B;
    CHECK_THAT(in_B, WithinRel(3e6 * (expected.root_sends + 2 * expected.sends), kExact));
    CHECK_THAT(out_B, WithinRel(3e6 * (expected.root_gets + 2 * expected.gets), kExact));
    const activities::StagingTimes times = activities::staging_times(star.cluster, buffers, *star.solver);
    const double sent = std::max(expected.root_sends, expected.sends),
                 got = std::max(expected.root_gets, expected.gets);
    CHECK_THAT(times.in_s, WithinRel(5e-6 + sent * 3e6 / 30e9, kExact));
    CHECK_THAT(times.out_s, WithinRel(6e-6 + got * 3e6 / 30e9, kExact));
    CHECK_FALSE(times.assumed);
  }
}

TEST_CASE("staging: buffers of parts that differ, and what a process pays itself", "[physics][schedule]") {
  const Star star(3);
  // parts that differ: of an alltoallv what a rank sends is its row, what it gets its column
  const auto uneven = collectives().get("alltoallv").with_parts({1e6, 2e6, 3e6, 4e6, 5e6, 6e6, 7e6, 8e6, 9e6});
  std::vector<ClusterGpu> ranks;
  for (int n = 0; n < 3; ++n) ranks.push_back({n, 0});
  const activities::StagedBuffers buffers{ranks, *uneven, 24e6, Staging::kPinned, {}};
  activities::ClusterProblem in(star.cluster), out(star.cluster);
  activities::add_staging_copies(buffers, 3, in, out);
  for (int r = 0; r < 3; ++r) {
    CHECK_THAT(in.problem().activities[static_cast<std::size_t>(r)].work_B, WithinRel(6e6 + 9e6 * r, kExact));
    CHECK_THAT(out.problem().activities[static_cast<std::size_t>(r)].work_B, WithinRel(12e6 + 3e6 * r, kExact));
  }
  const auto parts = collectives().get("allgatherv").with_parts({1e6, 2e6, 3e6});
  const activities::StagedBuffers gathered{ranks, *parts, 6e6, Staging::kPinned, {}};
  activities::ClusterProblem own(star.cluster), all(star.cluster);
  activities::add_staging_copies(gathered, 3, own, all);
  for (std::size_t r = 0; r < 3; ++r) {
    CHECK_THAT(own.problem().activities[r].work_B, WithinRel(1e6 * (static_cast<double>(r) + 1), kExact));
    CHECK_THAT(all.problem().activities[r].work_B, WithinRel(6e6, kExact));
  }
  // pageable: both buffers come down one after the other, by the process's own pace, with what fresh pages cost
  activities::StagingCosts costs;
  costs.copy_s = 10e-6;
  costs.copy_Bps = 2e9;
  costs.fresh_Bps = 4e9;
  costs.fresh_from_B = 3e6;
  const activities::StagedBuffers pageable{ranks, collectives().get("all_reduce"), 3e6, Staging::kPageable, costs};
  const activities::StagingTimes times = activities::staging_times(star.cluster, pageable, *star.solver);
  const double fresh = 0.5 * 3e6 / 4e9;  // half of them are fresh at that size
  CHECK_THAT(times.in_s, WithinRel(2 * (10e-6 + fresh + 3e6 / 2e9), kExact));
  CHECK_THAT(times.out_s, WithinRel(10e-6 + 3e6 / 2e9, kExact));
  CHECK(costs.fresh_s(1e6) == 0);
  CHECK_THAT(costs.fresh_s(12e6), WithinRel(12e6 / 4e9, kExact));
}

}  // namespace linkcast::test::schedule_times_test
