// What copies at once do to each other, against closed forms: a machine of four GPUs behind one switch, made up so that
// every expected number can be written down.
#include "sim/forecast/copies.hpp"

#include <cmath>
#include <map>

#include "sim/engine/solvers.hpp"
#include "sim/forecast/engine_orders.hpp"
#include "sim/plan/transfer.hpp"
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::copies_test {

namespace {

constexpr double kRate = 400e9, kPcie = 50e9, kBoth = 80e9, kStaging = 40e9;
constexpr double kStart = 2e-6, kPull = 13e-6, kSingle = 7e-6, kTurn = 3e-6, kHandover = 4e-6;
constexpr double kBidirectional = 2e-6;
constexpr double kStagedWait = 5e-6;
constexpr double kSize = 268435456, kChunk = 1048576;
constexpr double kShare = (128.0 / 144) / (256.0 / 272);  // payload of a kernel's packets against a copy engine's
constexpr double kRequests = 16.0 / 144;                  // a load's request packet against its data packet

Device device(const std::string& id, DeviceKind kind) {
  Device d;
  d.id = id;
  d.kind = kind;
  d.sm = kind == DeviceKind::kGpu ? 90 : 0;
  return d;
}

Platform machine() {
  Topology t;
  t.name = "made";
  for (int k = 0; k < 4; ++k) t.devices.push_back(device("gpu" + std::to_string(k), DeviceKind::kGpu));
  t.devices.push_back(device("nvswitch0", DeviceKind::kNvswitch));
  t.devices.push_back(device("cpu0", DeviceKind::kCpu));
  for (int k = 0; k < 4; ++k)
    for (const int hub : {4, 5}) {
      Cable cable;
      cable.a = k;
      cable.b = hub;
      cable.kind = hub == 4 ? "nvlink4" : "pcie5";
      cable.id = "gpu" + std::to_string(k) + "-" + t.devices[static_cast<std::size_t>(hub)].id;
      cable.count = 1;
      cable.bandwidth.si = hub == 4 ? 450e9 : 63e9;
      t.cables.push_back(cable);
    }
  Calibration c;
  c.name = c.topology = "made";
  const auto set = [&](const std::string& name, double value, const char* unit) {
    c.parameters[name] = {value, 0.01 * value, unit, "fitted"};
  };
  set("cable.nvlink4.bandwidth_Bps", kRate, "B/s");
  set("cable.pcie5.to_host_Bps", kPcie, "B/s");
  set("cable.pcie5.from_host_Bps", kPcie, "B/s");
  set("cable.pcie5.duplex_Bps", kBoth, "B/s");
  for (const std::string transport : {"peer", "peer_sm", "peer_sm_read", "h2d", "d2h", "staged"})
    set("transport." + transport + ".r0.startup_s", kStart, "s");
  set("transport.peer_read.r0.startup_s", kPull, "s");
  set("transport.peer.single_s", kSingle, "s");
  set("transport.h2d.bidirectional_s", kBidirectional, "s");
  set("transport.staged.bidirectional_s", kStagedWait, "s");
  set("transport.relay.handover_s", kHandover, "s");
  set("transport.staged.chunk_B", kChunk, "B");
  set("transport.staged.r0.bandwidth_Bps", kStaging, "B/s");
  set("copy_engine.turn_s", kTurn, "s");
  c.valid_to_B = kSize;
  return {std::move(t), std::move(c)};
}

const Platform& made() {
  static const Platform platform = machine();
  return platform;
}

Json ask(decltype(copy::p2p_answer) answer, const Json& query, bool explain = false) {
  static const auto solver = make_solver("fluid");
  static const Cluster alone(made());
  ObjectReader r(query, "query");
  log::NoProgress none;
  return answer(alone, *solver, r, none, std::nullopt, explain);
}

double p2p(Json query) {
  query.update({{"src", "gpu0"}, {"dst", query.value("dst", "gpu1")}, {"size_B", kSize}});
  return ask(copy::p2p_answer, query)["time_s"].get<double>();
}

Json flows(const std::vector<std::pair<int, int>>& pairs, const std::string& engine, const std::string& direction) {
  Json list = Json::array();
  for (const auto& [source, target] : pairs)
    list.push_back({"gpu" + std::to_string(source), "gpu" + std::to_string(target), kSize});
  return ask(copy::flows_answer, {{"flows", list}, {"engine", engine}, {"direction", direction}});
}

}  // namespace

TEST_CASE("kernels pay for packet headers, loads for requests the other way", "[physics]") {
  const double wire = kSize / (kRate * kShare);
  CHECK_THAT(p2p({{"engine", "sm"}}), WithinRel(kStart + wire, 1e-9));
  CHECK_THAT(p2p({{"engine", "sm"}, {"direction", "read"}}), WithinRel(kStart + wire, 1e-9));
  CHECK_THAT(p2p({{"engine", "sm"}, {"bidirectional", true}}), WithinRel(kStart + wire, 1e-9));
  CHECK_THAT(p2p({{"engine", "sm"}, {"direction", "read"}, {"bidirectional", true}}),
             WithinRel(kStart + wire * (1 + kRequests), 1e-9));
}

TEST_CASE("from rest a copy takes longer than out of a queue", "[physics]") {
  CHECK_THAT(p2p(Json::object()), WithinRel(kStart + kSize / kRate, 1e-9));
  CHECK_THAT(p2p({{"timing", "back_to_back"}}), WithinRel(kStart + kSize / kRate, 1e-9));
  CHECK_THAT(p2p({{"timing", "single"}}), WithinRel(kSingle + kStart + kSize / kRate, 1e-9));
}

TEST_CASE("copies take turns at their source, pushed or pulled", "[physics]") {
  const double wire = kSize / kRate;
  const Json pushed = flows({{0, 1}, {0, 2}}, "copy_engine", "write");
  CHECK_THAT(pushed["flow_times_s"][0].get<double>(), WithinRel(kSingle + kStart + wire, 1e-9));
  CHECK_THAT(pushed["flow_times_s"][1].get<double>(), WithinRel(kSingle + kTurn + 2 * (kStart + wire), 1e-9));
  // Two targets pull from one source: in turn, and the second does not wait for the first one's start-up.
  const Json from_one = flows({{0, 1}, {0, 2}}, "copy_engine", "read");
  CHECK_THAT(from_one["flow_times_s"][0].get<double>(), WithinRel(kPull + wire, 1e-9));
  CHECK_THAT(from_one["flow_times_s"][1].get<double>(), WithinRel(kPull + 2 * wire, 1e-9));
  // One target pulls from two sources: their engines differ, the target's link is shared.
  const Json to_one = flows({{1, 0}, {2, 0}}, "copy_engine", "read");
  for (const Json& time : to_one["flow_times_s"]) CHECK_THAT(time.get<double>(), WithinRel(kPull + 2 * wire, 1e-9));
}

TEST_CASE("kernels share what copy engines take in turn", "[physics]") {
  const double wire = kSize / (kRate * kShare);
  const Json two = flows({{0, 1}, {0, 2}}, "sm", "write");
  for (const Json& time : two["flow_times_s"]) CHECK_THAT(time.get<double>(), WithinRel(kStart + 2 * wire, 1e-9));
  CHECK(two["warnings"].empty());
  const Json ring = flows({{0, 1}, {1, 2}, {2, 3}, {3, 0}}, "sm", "write");
  CHECK_THAT(ring["time_s"].get<double>(), WithinRel(kStart + wire, 1e-9));
  const Json mixed = flows({{0, 1}, {1, 0}, {0, 2}, {2, 0}, {1, 2}, {2, 1}}, "sm", "write");
  CHECK(mixed["warnings"].size() == 1);  // such traffic is slower than fair sharing where it was measured
  CHECK(mixed["time_high_s"].get<double>() > 1.4 * mixed["time_s"].get<double>());
}

TEST_CASE("where the first of queued copies decides, several picks are run", "[physics]") {
  const std::vector<std::pair<int, int>> ring_both = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 3}, {1, 0}, {2, 1}, {3, 2}};
  const double lone = kSize / kRate;
  const Json result = flows(ring_both, "copy_engine", "write");
  CHECK(result["warnings"].size() == 1);
  // Two copies an engine in turn at best, all four phases apart at worst.
  CHECK(result["time_s"].get<double>() > 2 * lone);
  CHECK(result["time_s"].get<double>() < 4.5 * lone);
  CHECK(result["time_low_s"].get<double>() < 2.2 * lone);
  CHECK(result["time_high_s"].get<double>() > 2.8 * lone);
  CHECK(flows(ring_both, "copy_engine", "write") == result);
  // Copies that meet no other engine's copies need no such thing.
  CHECK(flows({{0, 1}, {0, 2}}, "copy_engine", "write")["warnings"].empty());
}

TEST_CASE("an order learnt copy by copy is that order planned as a whole", "[physics]") {
  const auto solver = make_solver("fluid");
  for (const char* platform : {"dgx2", "hgx-h200"}) {
    const Cluster& machine = catalogue().machine(platform)->lone_node();
    Json list = Json::array();  // two and three copies an engine
    for (int k = 0; k < 20; ++k)
      list.push_back({"gpu" + std::to_string(k * 5 % 8), "gpu" + std::to_string((k * 5 + 1 + k * 3 % 7) % 8),
                      std::floor(kSize / (k + 1))});
    const Json query{{"flows", list}};
    ObjectReader r(query, "query");
    log::NoProgress none;
    const copy::CopyRequest request = copy::read_flows(machine, r, none);
    copy::CopyRuns runs = copy::run_copies(machine, *solver, request);
    REQUIRE(runs.count > 1);
    const Solution whole = solver->run(runs.median.plan.problem());
    CHECK(runs.median.solution.finish_s == whole.finish_s);
    CHECK(runs.median.solution.limited_by == whole.limited_by);
    CHECK(runs.median.solution.carried_B == whole.carried_B);
  }
}

TEST_CASE("a copy crosses the host where the runtime's transport, or the one named, does", "[physics]") {
  const Platform& dgx1 = catalogue().machine("p100-dgx1")->lone_node().node();
  const std::vector<Device>& devices = dgx1.topology().devices;
  int staged = 0, host = 0;
  for (int from = 0; from < std::ssize(devices); ++from)
    for (int to = 0; to < std::ssize(devices); ++to) {
      const auto ends = {devices[static_cast<std::size_t>(from)].kind, devices[static_cast<std::size_t>(to)].kind};
      if (std::count(ends.begin(), ends.end(), DeviceKind::kGpu) == 0) continue;
      const std::string natural = activities::runtime_transport(dgx1, from, to);
      staged += natural == "staged";
      host += natural == "host";
      CHECK(activities::crosses_host(dgx1, from, to, "") == (natural == "staged" || natural == "host"));
      CHECK(activities::crosses_host(dgx1, from, to, "staged"));
      CHECK(activities::crosses_host(dgx1, from, to, "peer") == (natural == "host"));
    }
  CHECK(staged == 24);  // each GPU of eight has four neighbours
  CHECK(host > 0);
}

TEST_CASE("staging is limited by its own pace or by the cables", "[physics]") {
  const double ends = kStart + 2 * kChunk / kPcie, steady = kSize - kChunk;
  CHECK_THAT(p2p({{"transport", "staged"}}), WithinRel(ends + steady / kStaging, 1e-9));
  // Both ways each cable carries up one copy and down the other: the joint capacity of its two directions counts, and
  // each chunk waits.
  const double both = p2p({{"transport", "staged"}, {"bidirectional", true}});
  const double pace = kChunk / (kChunk / kStaging + kStagedWait);
  CHECK_THAT(both, WithinRel(kStart + 2 * kChunk / (kBoth / 2) + steady / pace, 0.01));
}

TEST_CASE("staged copies wait where a GPU sends and receives", "[physics]") {
  const auto time_s = [](const Json& list) {
    return ask(copy::flows_answer, {{"flows", list}, {"transport", "staged"}})["time_s"].get<double>();
  };
  constexpr double n = 4096;
  const double alone = kStart + 2 * n / kPcie;
  CHECK_THAT(time_s({{"gpu0", "gpu1", n}, {"gpu2", "gpu3", n}}), WithinRel(alone, 1e-9));
  CHECK_THAT(time_s({{"gpu0", "gpu1", n}, {"gpu1", "gpu2", n}}), WithinRel(kStagedWait + alone, 0.01));
  // A small copy in the other direction does not hold all of a large one up.
  CHECK_THAT(time_s({{"gpu0", "gpu1", kSize}, {"gpu1", "gpu0", 1}}),
             WithinRel(time_s({{"gpu0", "gpu1", kSize}, {"gpu2", "gpu3", 1}}), 0.01));
}

TEST_CASE("a relayed copy in chunks overlaps its two legs", "[physics]") {
  const double leg = kStart + kSize / kRate;
  CHECK_THAT(p2p({{"transport", "relay"}}), WithinRel(2 * leg + kHandover, 1e-9));
  const double chunks = kSize / kChunk, one = kStart + kChunk / kRate;
  CHECK_THAT(p2p({{"transport", "relay"}, {"chunk_B", kChunk}}), WithinRel((chunks + 1) * one + kHandover, 1e-9));
  CHECK_THROWS_AS(p2p({{"transport", "relay"}, {"chunk_B", 1}}), InputError);
  CHECK_THROWS_AS(p2p({{"chunk_B", kChunk}}), InputError);
}

TEST_CASE("a relay takes the faster way, and its chunks are the bytes of the copy", "[physics]") {
  const Platform& platform = catalogue().machine("p100-dgx1")->platform();
  for (const auto& [slow, fast] : {std::pair{"gpu0-gpu1", "gpu4"}, std::pair{"gpu0-gpu4", "gpu1"}}) {
    const Json answer = query::answer(catalogue(), {{"kind", "p2p"},
                                                    {"platform", "p100-dgx1"},
                                                    {"src", "gpu0"},
                                                    {"dst", "gpu5"},
                                                    {"size_B", 64e6},
                                                    {"transport", "relay"},
                                                    {"edits", {std::string("scale ") + slow + ":0.5"}}});
    CHECK(answer.value("via", "") == fast);
  }
  activities::ProblemBuilder builder(platform);
  activities::Transfer copy;
  copy.source = platform.gpu(0);
  copy.target = platform.gpu(5);
  copy.bytes = 10e6;
  copy.transport = "relay";
  copy.chunk_B = 3e6;
  builder.add(copy);
  double moved_B = 0;
  for (const Activity& leg : builder.problem().activities) moved_B += leg.work_B;
  CHECK_THAT(moved_B, WithinRel(20e6, 1e-12));
}

TEST_CASE("without a third GPU there is no relay", "[physics]") {
  Topology pair = read_topology(test::data_dir() + "/tests/input/other-topology/topologies/pair.json");
  Calibration none;
  none.topology = pair.name;
  const Platform platform(std::move(pair), std::move(none));
  CHECK_THROWS_WITH(activities::ProblemBuilder(platform).add({0, 1, 1, "relay"}),
                    "no GPU has a direct link to both gpu0 and gpu1");
}

TEST_CASE("bidirectional host copies of one GPU wait for each other, those of two GPUs do not", "[physics]") {
  const auto time_s = [](const Json& list) {
    return ask(copy::flows_answer, {{"flows", list}, {"engine", "copy_engine"}})["time_s"].get<double>();
  };
  constexpr double n = 4096;
  const double alone = kStart + n / kPcie;
  CHECK_THAT(time_s({{"gpu0", "cpu0", n}, {"cpu0", "gpu1", n}}), WithinRel(alone, 1e-9));
  CHECK_THAT(time_s({{"gpu0", "cpu0", n}, {"cpu0", "gpu0", n}}),
             WithinRel(kBidirectional + kStart + 2 * n / kBoth, 1e-9));
  CHECK_THAT(time_s({{"cpu0", "gpu0", 64}, {"gpu0", "cpu0", 64}}), WithinRel(kStart + 128 / kBoth, 1e-9));
}

TEST_CASE("waits for copies in the other direction are one term of their own", "[physics][explain]") {
  const auto part = [](Json query, const std::string& label, const char* what = "time_s") {
    const bool flows = query.contains("flows");
    const Json answer = ask(flows ? copy::flows_answer : copy::p2p_answer, query, true);
    for (const Json& term : answer["terms"])
      if (term["label"] == label) return term[what].get<double>();
    return 0.0;
  };
  constexpr double n = 4096;
  const Json host{{"flows", {{"gpu0", "cpu0", n}, {"cpu0", "gpu0", n}}}, {"engine", "copy_engine"}};
  CHECK_THAT(part(host, "contention"), WithinRel(kBidirectional, 1e-9));
  CHECK_THAT(part(host, "serialisation"), WithinRel(2 * n / kBoth, 1e-6));
  CHECK_THAT(part(host, "base"), WithinRel(kStart, 1e-9));
  const Json staged{{"src", "gpu0"}, {"dst", "gpu1"}, {"size_B", kSize}, {"transport", "staged"}};
  CHECK(part(staged, "contention") == 0);
  const double bytes_s = part(staged, "serialisation");
  Json both = staged;
  both["bidirectional"] = true;
  CHECK_THAT(part(both, "contention"), WithinRel(kStagedWait * (kSize / kChunk - 1), 1e-9));  // one of a queue
  CHECK_THAT(part(both, "serialisation"), WithinRel(bytes_s, 0.01));  // the ends share the cables
  // The waits' own error, 1 % of them, and what copies at once lose to each other.
  const double waits_share = part(both, "contention", "time_share");
  CHECK_THAT(part(both, "contention", "spread"), WithinRel(std::hypot(0.01 * waits_share, 0.015), 1e-6));
}

TEST_CASE("an answer names what limits copies that no link does", "[physics]") {
  const auto limit = [](const Json& query) {
    const Json answer = query::answer(catalogue(), query);
    REQUIRE(answer.value("error", "") == "");
    CHECK(answer["bottleneck"].empty() == (answer["limited_by"] != "bandwidth"));
    return answer["limited_by"].get<std::string>();
  };
  const auto copy = [](const char* platform, const char* from, const char* to, Json more = Json::object()) {
    more.update({{"platform", platform}, {"kind", "p2p"}, {"src", from}, {"dst", to}});
    if (!more.contains("size_B")) more["size_B"] = 64e6;
    return more;
  };
  CHECK(limit(copy("rtx-4090", "gpu0", "gpu1")) == "rates of single copies");  // staged
  CHECK(limit(copy("hgx-h100", "gpu0", "gpu0")) == "rates of single copies");
  CHECK(limit(copy("hgx-h100", "gpu0", "cpu0", {{"pageable", true}})) == "rates of single copies");
  CHECK(limit(copy("hgx-h100", "gpu0", "cpu0")) == "bandwidth");
  CHECK(limit(copy("hgx-h100", "gpu0", "gpu0", {{"size_B", 64}})) == "start-up");
  const Json flows{
      {"platform", "rtx-4090"}, {"kind", "flows"}, {"flows", {{"gpu0", "gpu1", 64e6}, {"gpu2", "gpu3", 64e6}}}};
  CHECK(limit(flows) == "rates of single copies");
}

TEST_CASE("a staged copy between sockets crosses what joins them", "[physics]") {
  const Platform& platform = catalogue().machine("p100-dgx1")->platform();
  const int near = platform.gpu(0), far = platform.gpu(4);
  REQUIRE(platform.socket_of(near) != platform.socket_of(far));
  std::vector<int> down = platform.between_sockets(platform.socket_of(near), platform.socket_of(far)).links;
  REQUIRE(!down.empty());
  const std::vector<int>& last = platform.from_host(far).links;
  down.insert(down.end(), last.begin(), last.end());
  CHECK(activities::staged_route(platform, near, far).down == down);
  CHECK(activities::staged_route(platform, near, near).down == platform.from_host(near).links);
}

TEST_CASE("requests go the other way and count in what a cable carries both ways", "[physics]") {
  const Platform& platform = catalogue().machine("p100-dgx1")->platform();
  const activities::ProblemBuilder builder(platform);
  bool both_ways = false;
  for (const int link : platform.to_host(platform.gpu(0)).links) {
    std::map<int, double> weights;
    for (const Use& use : builder.uses({link}, activities::MoveBy::kSm, 0.25)) weights[use.constraint] = use.weight;
    CHECK(weights.at(link) == 1);
    CHECK(weights.at(link ^ 1) == 0.25);
    const int duplex = platform.duplex_of(platform.links()[static_cast<std::size_t>(link)].cable);
    if (duplex < 0) continue;
    both_ways = true;
    CHECK(weights.at(duplex) == 1.25);
  }
  CHECK(both_ways);
}

TEST_CASE("intervals of copies hold the standard error of a rate of their own, in its part of the time", "[physics]") {
  const Platform& shipped = catalogue().machine("p100-dgx1")->platform();
  const auto variance = [&](const std::string& rate, double error, const Json& query) {
    Calibration calibration = shipped.calibration();
    Parameter& parameter = calibration.parameters.at(rate);
    parameter.stderr_ = error * parameter.value;
    const Json answer = query::answer(
        catalogue(), query, std::make_shared<const catalogue::Machine>("x", Platform(shipped.wiring(), calibration)));
    REQUIRE(answer.value("error", "") == "");
    return std::pair{
        std::pow(std::log(answer["time_high_s"].get<double>() / answer["time_s"].get<double>()) / 1.645, 2),
        answer["time_s"].get<double>()};
  };
  const auto local = [](double bytes) -> Json {
    return {{"platform", "x"}, {"kind", "p2p"}, {"src", "gpu0"}, {"dst", "gpu0"}, {"size_B", bytes}};
  };
  const std::string rate = "transport.local.r2.bandwidth_Bps";
  for (const double bytes : {16777216.0, 268435456.0}) {
    const auto [sure, time_s] = variance(rate, 0, local(bytes));
    const double share = bytes / shipped.calibration().parameters.at(rate).value / time_s;
    CHECK_THAT(variance(rate, 0.2, local(bytes)).first - sure, WithinRel(std::pow(0.2 * share, 2), 1e-2));
  }
  // Below its range, and where links are slower, it says nothing.
  CHECK(variance(rate, 0.2, local(4096)).first == variance(rate, 0, local(4096)).first);
}

}  // namespace linkcast::test::copies_test
