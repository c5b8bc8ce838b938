// The time of one transfer of each kind, worked out by hand from parameters that all differ: two sockets of two GPUs,
// links of other rates each way, several ranges of size, copies from rest, slow GPUs, links that send again.
#include <algorithm>
#include <cmath>
#include <functional>

#include "sim/engine/solvers.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/plan/channel_flows.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/transfer.hpp"
#include "sim/records/cable_kinds.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"

namespace linkcast::test::transfer_times_test {

namespace {

using activities::MoveBy;
using activities::PlannedTransfer;
using activities::ProblemBuilder;
using activities::Transfer;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kShare = (128.0 / 144) / (256.0 / 272);  // payload of a kernel's packets against a copy engine's
constexpr double kRetry = 0.1;                            // of gpu1-gpu2

// bytes/s, each way of each cable: GPU k is number k; 4 and 5 are the CPUs
constexpr double k01 = 40e9, k10 = 38e9, k12 = 20e9, k21 = 19e9, k23 = 30e9, k32 = 31e9;
constexpr double kUp[] = {12e9, 12e9, 11e9, 12e9}, kDown[] = {10e9, 10e9, 10e9, 9e9};
constexpr double kAcross = 5e9, kBack = 7e9, kWrite = 8e9, kRead = 6.5e9;
constexpr double kChunk = 1048576, kFlat_B = 16384, kFlat = 30e-6;
constexpr double kStaging = 4e9;

struct Cost {
  double startup = 0, cap = kInfinite, single = 0, bidirectional = 0;
};
const std::map<std::string, Cost> kCosts = {{"local", {2e-6, 300e9, 1e-6}},
                                            {"local_sm", {4e-6, 350e9, 1.5e-6}},
                                            {"peer", {3e-6, 36e9, 7e-6}},
                                            {"peer_read", {13e-6, 33e9, 2e-6}},
                                            {"peer_sm", {5e-6, kInfinite, 2.5e-6}},
                                            {"peer_sm_read", {6e-6, kInfinite, 0}},
                                            {"h2d", {4.1e-6, kInfinite, 3.1e-6, 0.7e-6}},
                                            {"d2h", {4.2e-6, kInfinite, 3.2e-6}},
                                            {"h2d_pageable", {8.1e-6, 3e9, 0}},
                                            {"d2h_pageable", {8.2e-6, 2e9, 0}},
                                            {"h2d_sm", {9.1e-6, 4.5e9, 0, 2e-6}},
                                            {"d2h_sm", {9.2e-6, 4.6e9, 0}}};
constexpr double kStagedStart = 33e-6, kStagedSingle = 11e-6, kHandover = 4e-6, kTurn = 3e-6;
constexpr double kStores = 14e9, kLoads = 13e9;  // of one nvlink4: two join GPUs 0 and 1

void join(Topology& t, int a, int b, const std::string& kind, int count) {
  Cable cable;
  cable.a = a;
  cable.b = b;
  cable.kind = kind;
  cable.id = t.devices[static_cast<std::size_t>(a)].id + "-" + t.devices[static_cast<std::size_t>(b)].id;
  cable.count = count;
  cable.bandwidth.si = 25e9;
  t.cables.push_back(cable);
}

/// @param slow  by GPU: how many times as long it takes. @param memory  whether that of the CPUs is limited
Platform machine(const std::map<int, double>& slow = {}, bool memory = false, bool flaky = false) {
  Topology t;
  t.name = "made";
  for (int k = 0; k < 6; ++k) {
    Device d;
    d.kind = k < 4 ? DeviceKind::kGpu : DeviceKind::kCpu;
    d.id = (k < 4 ? "gpu" : "cpu") + std::to_string(k < 4 ? k : k - 4);
    d.sm = k < 4 ? 90 : 0;
    if (slow.count(k) > 0) d.slow = slow.at(k);
    t.devices.push_back(d);
  }
  join(t, 0, 1, "nvlink4", 2);
  join(t, 1, 2, "nvlink4", 1);
  join(t, 2, 3, "nvlink4", 1);
  for (int k = 0; k < 4; ++k) join(t, k, 4 + k / 2, "pcie4", 1);
  join(t, 4, 5, "qpi", 1);
  Calibration c;
  c.name = c.topology = "made";
  const auto set = [&](const std::string& name, double value, const char* unit) {
    c.parameters[name] = {value, 0.01 * value, unit, "fitted"};
  };
  const auto ways = [&](const std::string& a, const std::string& b, double there, double back) {
    set("link." + a + "->" + b + ".bandwidth_Bps", there, "B/s");
    set("link." + b + "->" + a + ".bandwidth_Bps", back, "B/s");
  };
  ways("gpu0", "gpu1", k01, k10);
  ways("gpu1", "gpu2", k12, k21);
  ways("gpu2", "gpu3", k23, k32);
  for (std::size_t k = 0; k < 4; ++k) ways("gpu" + std::to_string(k), "cpu" + std::to_string(k / 2), kUp[k], kDown[k]);
  ways("cpu0", "cpu1", kAcross, kBack);
  set("cable.nvlink4.store_Bps", kStores, "B/s");
  set("cable.nvlink4.load_Bps", kLoads, "B/s");
  set("cable.nvlink4@gpu1-gpu2.store_Bps", 100e9, "B/s");
  set("cable.nvlink4@gpu1-gpu2.load_Bps", 100e9, "B/s");
  if (flaky) set("cable.nvlink4@gpu1-gpu2.retry_rate", kRetry, "1");
  for (const auto& [name, cost] : kCosts) {
    set("transport." + name + ".r0.startup_s", cost.startup, "s");
    if (cost.cap < kInfinite) set("transport." + name + ".r0.bandwidth_Bps", cost.cap, "B/s");
    if (cost.single > 0) set("transport." + name + ".single_s", cost.single, "s");
    if (cost.bidirectional > 0) set("transport." + name + ".bidirectional_s", cost.bidirectional, "s");
  }
  set("transport.staged.r0.flat_s", kFlat, "s");
  set("transport.staged.r0.to_B", kFlat_B, "B");
  set("transport.staged.r1.startup_s", kStagedStart, "s");
  set("transport.staged.r1.bandwidth_Bps", kStaging, "B/s");
  set("transport.staged.chunk_B", kChunk, "B");
  set("transport.staged.single_s", kStagedSingle, "s");
  set("transport.relay.handover_s", kHandover, "s");
  set("copy_engine.turn_s", kTurn, "s");
  if (memory) {
    set("host_memory.write_Bps", kWrite, "B/s");
    set("host_memory.read_Bps", kRead, "B/s");
    set("host_memory.both_Bps", 50e9, "B/s");
  }
  c.valid_to_B = 1e9;
  return {std::move(t), std::move(c)};
}

struct Ran {
  double time_s = 0;
  PlannedTransfer plan;
};

Ran run(const Platform& platform, const Transfer& transfer) {
  ProblemBuilder builder(platform);
  Ran ran{0, builder.add(transfer)};
  ran.time_s =
      make_solver("fluid")->run(builder.problem()).finish_s[static_cast<std::size_t>(ran.plan.activities.back())];
  return ran;
}

Transfer copy(int source, int target, double bytes, const std::string& transport = "") {
  Transfer t;
  t.source = source;
  t.target = target;
  t.bytes = bytes;
  t.transport = transport;
  return t;
}

Transfer single(Transfer t) {
  t.single = true;
  return t;
}
Transfer by_kernel(Transfer t) {
  t.by = MoveBy::kSm;
  return t;
}
Transfer pulled(Transfer t) {
  t.read = true;
  return t;
}

/// Smallest and large sizes: the former shows the start-up.
const double kSizes[] = {8, 4096, 1e6, 1e8};

void check(const Platform& platform, const Transfer& transfer, double expected_s) {
  INFO(transfer.transport << " " << transfer.source << " to " << transfer.target << ", " << transfer.bytes << " B");
  CHECK_THAT(run(platform, transfer).time_s, WithinRel(expected_s, kExact));
}

double resend_s(CableFamily family) { return kRetry / (1 - kRetry) * 2 * hop_s(family); }

}  // namespace

TEST_CASE("by hand: copies inside a GPU and between peers", "[physics][transfer]") {
  const Platform platform = machine();
  for (const double n : kSizes) {
    check(platform, copy(0, 0, n), 2e-6 + n / 300e9);
    check(platform, single(copy(0, 0, n)), 3e-6 + n / 300e9);
    check(platform, by_kernel(copy(0, 0, n)), 4e-6 + n / 350e9);
    check(platform, single(by_kernel(copy(0, 0, n))), 5.5e-6 + n / 350e9);
    check(platform, copy(0, 1, n), 3e-6 + n / 36e9);  // the copy engine's own limit is below the link's
    check(platform, copy(1, 2, n), 3e-6 + n / k12);
    check(platform, copy(2, 1, n), 3e-6 + n / k21);
    check(platform, single(copy(2, 1, n)), 10e-6 + n / k21);
    check(platform, pulled(copy(0, 1, n)), 13e-6 + n / 33e9);
    check(platform, single(pulled(copy(2, 1, n))), 15e-6 + n / k21);
    check(platform, by_kernel(copy(0, 1, n)), 5e-6 + n / (2 * kStores));
    check(platform, by_kernel(copy(1, 2, n)), 5e-6 + n / (k12 * kShare));
    check(platform, single(by_kernel(copy(1, 2, n))), 7.5e-6 + n / (k12 * kShare));
    check(platform, pulled(by_kernel(copy(0, 1, n))), 6e-6 + n / (2 * kLoads));
    check(platform, pulled(by_kernel(copy(2, 1, n))), 6e-6 + n / (k21 * kShare));
  }
  CHECK(run(platform, copy(0, 1, 8)).plan.transport == "peer");
  CHECK(run(platform, pulled(copy(0, 1, 8))).plan.model == "peer_read");
  CHECK_THAT(run(platform, single(copy(0, 1, 8))).plan.latency_s, WithinRel(10e-6, kExact));
  CHECK_THAT(run(platform, copy(0, 1, 8)).plan.delay_error_s, WithinRel(0.01 * 3e-6, kExact));
}

TEST_CASE("by hand: the slower end slows start-ups and own limits, not links", "[physics][transfer]") {
  for (const auto& [one, other] :
       {std::pair{1.5, 2.0}, std::pair{2.0, 1.5}, std::pair{1.0, 2.0}, std::pair{2.0, 1.0}}) {
    const Platform platform = machine({{0, one}, {1, other}, {2, 1}});
    for (const double n : kSizes) {
      check(platform, single(copy(0, 1, n)), 2 * 10e-6 + n / 18e9);
      check(platform, single(copy(0, 0, n)), one * (3e-6 + n / 300e9));
      check(platform, single(copy(1, 2, n)), other * 10e-6 + n / std::min(k12, 36e9 / other));
      check(platform, single(copy(0, 4, n)), one * 7.4e-6 + n / kUp[0]);
      check(platform, by_kernel(copy(0, 4, n)), one * 9.2e-6 + n / (4.6e9 / one));
    }
    const Ran ran = run(platform, single(copy(0, 1, 8)));
    CHECK_THAT(ran.plan.latency_s, WithinRel(20e-6, kExact));
    CHECK_THAT(ran.plan.delay_error_s, WithinRel(0.01 * std::hypot(6e-6, 14e-6), kExact));  // start-up, from rest
    CHECK_THAT(run(platform, copy(0, 1, 8)).plan.latency_s, WithinRel(6e-6, kExact));
    CHECK_THAT(run(platform, copy(0, 4, 8)).plan.latency_s, WithinRel(one * 4.2e-6, kExact));
  }
}

TEST_CASE("by hand: relays, whole and in chunks, with slow GPUs", "[physics][transfer]") {
  for (const double via : {1.0, 1.25}) {
    const Platform platform = machine({{1, via}});
    for (const double n : kSizes) {
      const double in = via * 3e-6 + n / std::min(k01, 36e9 / via), out = via * 3e-6 + n / k12;
      check(platform, copy(0, 2, n, "relay"), in + via * kHandover + out);
      check(platform, single(copy(0, 2, n, "relay")), in + via * (7e-6 + kHandover) + out);
      check(platform, pulled(copy(0, 2, n, "relay")),
            via * (26e-6 + kHandover) + n / std::min(k01, 33e9 / via) + n / k12);
    }
    const Ran ran = run(platform, single(copy(0, 2, 8, "relay")));
    CHECK(ran.plan.via == 1);
    CHECK_THAT(ran.plan.latency_s, WithinRel(via * (2 * 3e-6 + 7e-6 + kHandover), kExact));
    CHECK(ran.plan.delay_error_s >= via * 0.01 * std::hypot(3e-6, kHandover));
    // Three chunks and a smaller one: the second leg, which is slower, takes them one after the other.
    Transfer chunks = single(copy(0, 2, 3.25e6, "relay"));
    chunks.chunk_B = 1e6;
    const double in = via * 3e-6 + 1e6 / std::min(k01, 36e9 / via), out = via * 3e-6 + 1e6 / k12;
    check(platform, chunks, via * 7e-6 + in + via * kHandover + 3 * out + via * 3e-6 + 0.25e6 / k12);
    chunks.single = false;
    check(platform, chunks, in + via * kHandover + 3 * out + via * 3e-6 + 0.25e6 / k12);
    chunks.chunk_B = 1e9;  // more than there is: one chunk
    check(platform, chunks, run(platform, copy(0, 2, 3.25e6, "relay")).time_s);
  }
  const Platform platform = machine();
  Transfer most = copy(0, 2, 65536, "relay");
  most.chunk_B = 1;
  CHECK_NOTHROW(ProblemBuilder(platform).add(most));
  most.bytes = 65537;
  CHECK_THROWS_AS(ProblemBuilder(platform).add(most), InputError);
  most.via = 1;
  most.transport = "";
  most.chunk_B = 0;
  CHECK(run(platform, most).plan.transport == "relay");
  most.via = 3;
  CHECK_THROWS_AS(ProblemBuilder(platform).add(most), InputError);
}

TEST_CASE("by hand: staged copies, in a socket and across", "[physics][transfer]") {
  for (const double slow : {1.0, 1.6}) {
    const Platform platform = machine({{3, slow}});
    struct Way {
      int from, to;
      double up, down, slow;
    };
    for (const Way& way : {Way{0, 1, kUp[0], kDown[1], 1}, Way{0, 3, kUp[0], std::min(kAcross, kDown[3]), slow},
                           Way{3, 0, kUp[3], std::min(kBack, kDown[0]), slow}}) {
      const double both = std::min(way.up, way.down), cap = kStaging / way.slow;
      for (const double n : {8.0, 4096.0, kFlat_B}) {
        check(platform, copy(way.from, way.to, n, "staged"), way.slow * kFlat);
        check(platform, single(copy(way.from, way.to, n, "staged")), way.slow * (kFlat + kStagedSingle));
      }
      for (const double n : {65536.0, kChunk})  // nothing overlaps up to a chunk
        check(platform, copy(way.from, way.to, n, "staged"), way.slow * kStagedStart + n / way.up + n / way.down);
      for (const double n : {2.5 * kChunk, 1e8}) {
        const double steady = (n - kChunk) / std::min(both, cap);
        check(platform, single(copy(way.from, way.to, n, "staged")),
              way.slow * (kStagedStart + kStagedSingle) + kChunk / way.up + steady + kChunk / way.down);
      }
      const Ran ran = run(platform, single(copy(way.from, way.to, 1e8, "staged")));
      CHECK_THAT(ran.plan.latency_s, WithinRel(way.slow * (kFlat + kStagedSingle), kExact));
      CHECK_THAT(ran.plan.delay_error_s, WithinRel(0.01 * way.slow * std::hypot(kStagedStart, kStagedSingle), kExact));
    }
  }
}

TEST_CASE("by hand: copies to and from the memory of either socket", "[physics][transfer]") {
  const Platform platform = machine();
  for (const double n : kSizes) {
    check(platform, copy(2, 5, n), 4.2e-6 + n / kUp[2]);
    check(platform, copy(5, 3, n), 4.1e-6 + n / kDown[3]);
    check(platform, copy(0, 5, n), 4.2e-6 + n / kAcross);
    check(platform, copy(5, 0, n), 4.1e-6 + n / kBack);
    check(platform, single(copy(5, 0, n)), 7.2e-6 + n / kBack);
    check(platform, by_kernel(copy(4, 0, n)), 9.1e-6 + n / 4.5e9);
    check(platform, by_kernel(copy(0, 4, n)), 9.2e-6 + n / 4.6e9);
    Transfer pageable = copy(4, 0, n);
    pageable.pageable = true;
    check(platform, pageable, 8.1e-6 + n / 3e9);
    std::swap(pageable.source, pageable.target);
    check(platform, pageable, 8.2e-6 + n / 2e9);
  }
}

TEST_CASE("by hand: bidirectional host copies of one GPU wait", "[physics][transfer]") {
  const Platform platform = machine({{1, 2}});
  for (const bool kernel : {false, true})
    for (const double n : kSizes) {
      Transfer up = copy(1, 4, n), down = copy(4, 1, n);
      up.bidirectional = down.bidirectional = true;
      const double wait_s = kernel ? 4e-6 : n > 64 ? 1.4e-6 : 0;  // GPU 1 takes twice as long
      check(platform, kernel ? by_kernel(up) : up,
            kernel ? 18.4e-6 + wait_s + n / 2.3e9 : 8.4e-6 + wait_s + n / kUp[1]);
      check(platform, kernel ? by_kernel(down) : down,
            kernel ? 18.2e-6 + wait_s + n / 2.25e9 : 8.2e-6 + wait_s + n / kDown[1]);
    }
  Transfer pageable = copy(4, 0, 4096);
  pageable.bidirectional = pageable.pageable = true;
  check(platform, pageable, 8.1e-6 + 4096 / 3e9);
}

TEST_CASE("by hand: what the memory of a CPU takes beyond its cache", "[physics][transfer]") {
  const Platform platform = machine({}, true);
  // 13.6 MB of the cache, written and read for two GPUs of the socket: assumed in sim/plan/host_memory.cpp
  const auto reaching = [](double n) { return 1 - 13.6e6 / std::max(13.6e6, 4 * n); };
  for (const double n : {1e6, 3.4e6, 5e6, 1e8}) {
    const double share = reaching(n);
    check(platform, copy(0, 4, n), 4.2e-6 + n * std::max(1 / kUp[0], share / kWrite));
    check(platform, copy(4, 0, n), 4.1e-6 + n * std::max(1 / kDown[0], share / kRead));
  }
}

TEST_CASE("by hand: a link that sends again delays and slows", "[physics][transfer]") {
  const Platform good = machine(), flaky = machine({}, false, true);
  const double held = resend_s(CableFamily::kAccelerator);
  REQUIRE(held > 0);
  for (const double n : kSizes) {
    check(flaky, copy(1, 2, n), 3e-6 + held + n / (k12 * (1 - kRetry)));
    check(flaky, copy(0, 2, n, "relay"), 6e-6 + kHandover + held + n / 36e9 + n / (k12 * (1 - kRetry)));
  }
  CHECK_THAT(run(flaky, copy(1, 2, 8)).plan.latency_s, WithinRel(3e-6 + held, kExact));
  CHECK_THAT(run(good, copy(1, 2, 8)).plan.latency_s, WithinRel(3e-6, kExact));
}

TEST_CASE("by hand: copies on one engine in turn, the second without its start from rest", "[physics][transfer]") {
  const Platform platform = machine();
  ProblemBuilder builder(platform);
  const double n = 1e6;
  builder.add(single(copy(1, 2, n)));
  const PlannedTransfer second = builder.add(single(copy(1, 0, n)));
  const Solution solution = make_solver("fluid")->run(builder.problem());
  CHECK_THAT(solution.finish_s[static_cast<std::size_t>(second.activities.back())],
             WithinRel(10e-6 + n / k12 + 3e-6 + kTurn + n / 36e9, kExact));
}

TEST_CASE("by hand: a start-up that was never measured is a third unsure", "[physics][transfer]") {
  Topology t = machine().topology();
  Calibration c;
  c.name = c.topology = t.name;
  c.parameters["transport.peer.r0.startup_s"] = {3e-6, 0, "s", "fitted"};
  const Platform platform(std::move(t), std::move(c));
  CHECK_THAT(run(platform, by_kernel(copy(0, 1, 8))).plan.delay_error_s, WithinRel(0.3 * 3e-6, kExact));
  CHECK(run(platform, copy(0, 1, 8)).plan.delay_error_s == 0);
  // pulled copies stand in for pushed ones where only they were measured, and the other way
  Calibration pulls;
  pulls.name = pulls.topology = "made";
  pulls.parameters["transport.peer_read.r0.startup_s"] = {7e-6, 0, "s", "fitted"};
  const Platform puller(machine().topology(), std::move(pulls));
  CHECK(run(puller, copy(0, 1, 8)).plan.model == "peer_read");
}

TEST_CASE("kernels get of Infinity Fabric what was measured of it, however many links", "[physics][transfer]") {
  Topology t = machine().topology();
  for (Cable& cable : t.cables)
    if (cable.kind == "nvlink4") cable.kind = "infinity_fabric";
  Calibration c;
  c.name = c.topology = t.name;
  const auto set = [&](const std::string& name, double value) { c.parameters[name] = {value, 0, "B/s", "fitted"}; };
  set("cable.infinity_fabric.bandwidth_Bps", 50e9);
  set("cable.infinity_fabric.store_Bps", 38e9);
  c.parameters["transport.peer_sm.r0.startup_s"] = {5e-6, 0, "s", "fitted"};
  const Platform platform{t, c};
  for (const double n : {8.0, 1e8}) {
    check(platform, by_kernel(copy(0, 1, n)), 5e-6 + n / (2 * 38e9));
    check(platform, by_kernel(copy(1, 2, n)), 5e-6 + n / 38e9);
  }
  set("cable.infinity_fabric.store_Bps", 60e9);  // no more than copies get
  const Platform faster{t, c};
  check(faster, by_kernel(copy(1, 2, 1e8)), 5e-6 + 1e8 / 50e9);
}

TEST_CASE("refused: what no transport can do", "[physics][transfer]") {
  const Platform platform = machine();
  const auto refused = [&](const Transfer& transfer) {
    CHECK_THROWS_AS(ProblemBuilder(platform).add(transfer), InputError);
  };
  refused(copy(4, 5, 8));
  refused(copy(0, 3, 8, "peer"));
  refused(copy(0, 3, 8, "relay"));
  refused(copy(0, 1, 8, "local"));
  refused(copy(0, 0, 8, "peer"));
  refused(copy(0, 4, 8, "staged"));
  refused(copy(0, 1, 8, "mail"));
  refused(pulled(copy(0, 4, 8)));
  refused(pulled(copy(0, 0, 8)));
  Transfer odd = copy(0, 1, 8);
  odd.pageable = true;
  refused(odd);
  odd = copy(0, 1, 8, "peer");
  odd.via = 2;
  refused(odd);
}

}  // namespace linkcast::test::transfer_times_test
