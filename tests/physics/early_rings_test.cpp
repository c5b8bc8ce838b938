// Collectives of the versions before cost models against closed forms: blocks that keep step, host memory, narrow
// parts.
#include <algorithm>
#include <cmath>

#include "models/libraries/early_library.hpp"
#include "sim/forecast/alignment.hpp"
#include "sim/plan/channel_flows.hpp"
#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/unlearned.hpp"
#include "validate/compare.hpp"

namespace linkcast::test::early_rings_test {

namespace {

Json collective(const std::string& library, const std::string& op, const std::vector<int>& gpus, double size_B,
                const std::string& launch = "graph") {
  const Json query{{"platform", unlearned("p100-dgx1")},
                   {"kind", "collective"},
                   {"launch", launch},
                   {"op", op},
                   {"size_B", size_B},
                   {"gpus", gpus},
                   {"library", library}};
  Json result = query::answer(catalogue(), query);
  INFO(query.dump());
  REQUIRE(result.value("error", "") == "");
  return result;
}

double seconds(const Json& result) { return result["time_s"].get<double>(); }

}  // namespace

TEST_CASE("nccl-1: one block carries a ring over NVLink, whatever the number of ranks", "[physics]") {
  const double size = 1 << 30;
  const auto rate = [&](int ranks, const std::vector<int>& gpus) {
    const Json result = collective("nccl-1", "all_reduce", gpus, size);
    CHECK(result["blocks"] == 1);
    CHECK(result["protocol"] == "Simple");
    return 2 * size * (ranks - 1) / ranks / (seconds(result) - result["latency_s"].get<double>());
  };
  const double two = rate(2, {0, 1});
  CHECK_THAT(rate(4, {0, 1, 2, 3}), WithinRel(two, 1e-9));
  CHECK_THAT(two, WithinRel(kFirstBlock_Bps.value, 1e-9));
}

TEST_CASE("nccl-1: host memory is pipelined, and slower than NVLink", "[physics]") {
  // The same five GPUs: 3->4 through host memory, and the order whose every hop is an NVLink does not exist with 4
  // last.
  const double size = 1 << 28;
  const double pipelined = seconds(collective("nccl-1", "all_gather", {0, 1, 2, 3, 4}, size));
  CHECK(pipelined < seconds(collective("nccl-2.3", "all_gather", {0, 1, 2, 3, 4}, size)));
  CHECK(pipelined > seconds(collective("nccl-1", "all_gather", {0, 1, 2, 3}, size)));
}

TEST_CASE("a hop through host memory: what overlaps", "[physics]") {
  const Platform& dgx1 = catalogue().machine("p100-dgx1")->lone_node().node();
  const activities::ProblemBuilder builder(dgx1);
  const Hop hop{3, 4, HopKind::kHostMemory};
  activities::HopLinks links;
  const double serial = activities::add_hop(builder, hop, 1, links);
  const double half = activities::add_hop(builder, hop, 0.5, links);
  const double none = activities::add_hop(builder, hop, 0, links);
  CHECK_THAT(1 / half, WithinRel(0.5 * (1 / serial + 1 / none), 1e-12));
  CHECK(none <= 2 * serial);  // twice as fast where both ways are alike, less otherwise
}

TEST_CASE("a chain's calls overlap: each further GPU costs its issuing thread a call, the devices a hop in 20 calls",
          "[physics]") {
  const std::string library = GENERATE("nccl-1", "nccl-2.3");
  const std::string op = GENERATE("broadcast", "reduce");
  const auto ask = [&](const std::vector<int>& gpus, const std::string& launch) {
    return collective(library, op, gpus, 8, launch);
  };
  const Json two = ask({0, 1}, "graph"), four = ask({0, 1, 2, 3}, "graph");
  // 8 bytes: LL from 2.3 on
  const EarlyLatency& table = library == "nccl-1" ? kEarlySimple : kEarlyLL;
  const double hop_s = table.nvlink_hop_us * 1e-6;
  CHECK_THAT(two["latency_s"].get<double>(), WithinRel(table.base_us * 1e-6 + hop_s / 20, 1e-9));
  CHECK_THAT(four["latency_s"].get<double>() - two["latency_s"].get<double>(), WithinRel(2 * hop_s / 20, 1e-6));
  const Calibration& own = catalogue().machine("p100-dgx1")->platform().calibration();
  const double each =
      library == "nccl-1" ? own.find("launch.kernel.call_s")->value : own.find("launch.single_process.gpu_s")->value;
  const auto host_s = [&](const std::vector<int>& gpus) { return ask(gpus, "single_process")["host_s"].get<double>(); };
  CHECK_THAT(host_s({0, 1, 2, 3}) - host_s({0, 1}), WithinRel(2 * each, 1e-9));
  if (library == "nccl-1") CHECK_THAT(host_s({0, 1}), WithinRel(2 * each, 1e-9));  // no group around them
}

TEST_CASE("blocks that keep step: the last step of a reduce_scatter idles the links", "[physics]") {
  const double size = 1 << 30;
  const Json all_gather = collective("nccl-2.3", "all_gather", {0, 1, 2, 3}, size);
  const Json scatter = collective("nccl-2.3", "reduce_scatter", {0, 1, 2, 3}, size);
  const double crowding = 1 + std::sqrt(11) * 0.001;  // of each block by eleven others
  const double step = size / 4 / (12 * 128 * kEarlyThread_Bps.value / crowding);
  CHECK_THAT(seconds(scatter) - seconds(all_gather), WithinRel(0.8 * step, 1e-6));
}

TEST_CASE("narrow parts through host memory: which, and how slowly, is in wiring and order", "[physics]") {
  // Ring 0 1 2 3 ~host~ 4: parts 0 and 4 begin at 16 bytes, 2 at 8, 1 and 3 at 4. Part 4 never goes 3 -> 4 in an
  // all_gather, part 3 not in a reduce_scatter. A load from the host takes 1.17 us, from the GPU's own memory 0.338.
  const std::vector<int> five = {0, 1, 2, 3, 4};
  const double size = 1073741820, block = 256 * kEarlyThread_Bps.value * kPascalNarrow4.value;
  const double four_B = 1.17e-6 / (500 / 1480e6), eight_B = four_B * kPascalNarrow4.value / kPascalNarrow8.value;
  const auto steps = [&](const std::string& op) {
    const Json answer = collective("nccl-2.3", op, five, size);
    return (seconds(answer) - answer["latency_s"].get<double>()) * block / (size / 5);
  };
  CHECK_THAT(steps("all_gather"), WithinRel(2 * four_B + eight_B + 1, 1e-3));
  CHECK_THAT(steps("reduce_scatter"), WithinRel(four_B + eight_B + 2 + 0.8, 1e-3));
  // Whole parts of 16 bytes cross it as before.
  CHECK(seconds(collective("nccl-2.3", "all_gather", five, 5 * 16 * 13421772.0)) <
        0.5 * seconds(collective("nccl-2.3", "all_gather", five, size)));
}

TEST_CASE("P100: parts off 16 bytes are moved by 8 or by 4", "[physics]") {
  // 1 GiB on 3 and 6 GPUs: parts of 357913940 and 178956968 bytes, as nccl-tests rounds.
  CHECK(collective::access_width_B(1073741824.0 / 3) == 4);
  CHECK(collective::access_width_B(1073741824.0 / 6) == 8);
  CHECK(collective::access_width_B(1073741824.0 / 4) == 16);
  CHECK(collective::access_width_B(1000002) == collective::access_width_B(1000000));
  const auto busbw = [&](const std::string& op, const std::vector<int>& gpus) {
    return collective("nccl-2.3", op, gpus, 1 << 30)["busbw_Bps"].get<double>();
  };
  const std::vector<int> three = {0, 1, 2}, six = {0, 1, 2, 3, 4, 5};
  const double crowding = 1 + std::sqrt(3) * 0.001;              // of each block by three others
  const double block = 128 * kEarlyThread_Bps.value / crowding;  // two rings of two blocks
  CHECK_THAT(busbw("all_gather", three), WithinRel(4 * block * kPascalNarrow4.value, 3e-3));
  CHECK_THAT(busbw("all_gather", six), WithinRel(4 * block * kPascalNarrow8.value, 3e-3));
  CHECK(busbw("all_reduce", three) > 30e9);  // NCCL cuts the buffer itself
}

TEST_CASE("nccl-2.3 between nodes: a ring for each NIC", "[physics]") {
  const auto ask = [](const std::string& op, double size_B) {
    const Json query{{"platform", "summitdev"}, {"kind", "collective"}, {"launch", "graph"}, {"op", op},
                     {"size_B", size_B},        {"nodes", 2},           {"gpus", {0}},       {"library", "nccl-2.3"}};
    Json result = query::answer(catalogue(), query);
    INFO(query.dump());
    REQUIRE(result.value("error", "") == "");
    return result;
  };
  const Json large = ask("broadcast", 1 << 30);
  CHECK(large["channels"].size() == 2);  // two ports a node
  CHECK(large["blocks"] == 4);
  CHECK(large["protocol"] == "Simple");
  CHECK(large["busbw_Bps"].get<double>() < 2 * 12.5e9);  // what both carry
  // LL up to ranks x rings x threads x 32 B, twice that between nodes.
  const double limit = 2.0 * 4 * 256 * 32 * 2;
  CHECK(ask("all_reduce", limit)["protocol"] == "LL");
  CHECK(ask("all_reduce", limit + 4)["protocol"] == "Simple");
  CHECK(ask("all_reduce", 8)["latency_s"].get<double>() > ask("broadcast", 8)["latency_s"].get<double>());
}

TEST_CASE("early versions: calls of a chain wait for each other", "[physics]") {
  // The fill of 7 hops, each of half an 8th of eight buffers of 4 MiB; that of later versions once in 20 calls.
  const auto of = [](const std::string& library, double size_B) {
    return seconds(collective(library, "broadcast", {0, 1, 2, 3, 4, 5, 6, 7}, size_B));
  };
  const double large = 1 << 30, larger = 2 * large, rate = large / (of("nccl-2.3", larger) - of("nccl-2.3", large));
  const double filled = 7 * 0.5 * 8 * 524288.0;
  const double start = of("nccl-2.3", large) - (large + filled) / rate;
  CHECK(start > 0);
  CHECK(start < 60e-6);
  // What one call alone pays besides is the hops of its first byte, whatever the size.
  const auto alone = [](double size_B) {
    Json query{{"platform", unlearned("p100-dgx1")}, {"kind", "collective"}, {"op", "broadcast"}, {"size_B", size_B},
               {"gpus", {0, 1, 2, 3, 4, 5, 6, 7}},   {"library", "nccl-2.3"}};
    const double queued = seconds(query::answer(catalogue(), query));
    query["calls"] = 1;
    return seconds(query::answer(catalogue(), query)) - queued;
  };
  CHECK_THAT(alone(1 << 24), WithinRel(alone(1 << 28), 1e-6));
}

TEST_CASE("early versions: a part of less than an element moves nothing", "[physics]") {
  const auto start = [](const std::string& op, double size_B) {
    return collective("nccl-2.3", op, {0, 1, 2, 3, 4, 5, 6, 7}, size_B)["latency_s"].get<double>();
  };
  CHECK(start("all_gather", 8) < start("all_gather", 64));
  CHECK(start("reduce_scatter", 31) == start("all_gather", 8));
  CHECK(start("all_reduce", 8) > start("all_gather", 8));  // that is not cut into parts by the caller
}

TEST_CASE("broadcast over size on eight P100, which no fit saw", "[physics]") {
  for (const auto& [file, limit] : std::vector<std::pair<std::string, double>>{{"nccl1", 0.16}, {"nccl2", 0.12}}) {
    const Measurement sweep =
        read_measurement(data_dir() + "/calibrate/data/p100-dgx1/tartan-" + file + "-broadcast.json");
    const auto compared = validate::compare(catalogue(), sweep, {}, catalogue().machine("p100-dgx1"));
    std::vector<double> errors;
    int inside = 0;
    for (const validate::ComparedPoint& p : compared.points) {
      errors.push_back(std::abs(p.error()));
      inside += p.measured_s >= p.low_s && p.measured_s <= p.high_s ? 1 : 0;
    }
    std::sort(errors.begin(), errors.end());
    INFO(file << ": median " << errors[errors.size() / 2] << ", worst " << errors.back() << ", inside " << inside);
    CHECK(errors[errors.size() / 2] < limit);
    CHECK(errors.back() < 0.3);
    CHECK(inside >= 0.85 * static_cast<double>(errors.size()));
  }
}

}  // namespace linkcast::test::early_rings_test
