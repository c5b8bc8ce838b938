// Host memory: copies of several GPUs share what one CPU's takes; collectives through it go in phases.
#include <algorithm>

#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::host_memory_test {

namespace {

double h200(const char* name) { return parameter("hgx-h200", name); }

Json answer_to(const Json& query) {
  Json found = query::answer(catalogue(), query);
  INFO(query.dump());
  REQUIRE(found.value("error", "") == "");
  return found;
}

/// Bytes of all flows over the time of the last.
double rate_of(const Json& flows) {
  double bytes = 0;
  for (const Json& flow : flows) bytes += flow[2].get<double>();
  return bytes / answer_to({{"kind", "flows"}, {"platform", "hgx-h200"}, {"flows", flows}})["time_s"].get<double>();
}

Json without_peers(const std::string& op, const std::vector<int>& gpus, double size_B, const Json& more = {}) {
  Json query{{"kind", "collective"}, {"platform", "hgx-h200"}, {"op", op}, {"gpus", gpus}, {"size_B", size_B}};
  query["edits"] = {"disable p2p"};
  query["launch"] = "queue";  // base and hops are those of queued calls
  if (!more.is_null()) query.update(more);
  return answer_to(query);
}

double time_of(const Json& answer) { return answer.at("time_s").get<double>(); }

}  // namespace

TEST_CASE("four GPUs together get what the memory of their CPU gives", "[physics]") {
  const double large = 1024 * kMiB;
  Json up, down, both;
  for (const int gpu : {0, 1, 2, 3}) {
    const std::string name = "gpu" + std::to_string(gpu);
    up.push_back({name, "cpu0", large});
    down.push_back({"cpu0", name, large});
    both.push_back({name, "cpu0", large});
    both.push_back({"cpu0", name, large});
  }
  CHECK_THAT(rate_of(up), WithinRel(h200("host_memory.write_Bps"), 3e-3));
  const double both_Bps = h200("host_memory.both_Bps");
  CHECK_THAT(rate_of(down), WithinRel(std::min(h200("host_memory.read_Bps"), both_Bps), 3e-3));
  CHECK_THAT(rate_of(both), WithinRel(both_Bps, 3e-3));
  // Two GPUs of either socket: each memory has room for its own.
  CHECK_THAT(rate_of(Json{{"cpu0", "gpu0", large}, {"cpu0", "gpu1", large}, {"cpu1", "gpu4", large}}),
             WithinRel(3 * h200("cable.pcie5.from_host_Bps"), 1e-3));
}

TEST_CASE("a ring of two through host memory sends alone, both ways, and receives alone", "[physics]") {
  const double size = 4096 * kMiB;
  const double up = h200("transport.d2h_sm.r2.bandwidth_Bps"), down = h200("transport.h2d_sm.r3.bandwidth_Bps");
  const double each = h200("cable.pcie5.kernel_duplex_Bps") / 2, share = h200("nccl.host.data_share");
  const double gather_s = size / 2 * (1 / up + 1 / down) / share;
  CHECK_THAT(time_of(without_peers("all_gather", {0, 1}, size)), WithinRel(gather_s, 2e-3));
  const double reduce_s = size * (1 / up + 1 / down + 1 / each) / 2 / share;
  CHECK_THAT(time_of(without_peers("all_reduce", {0, 1}, size)), WithinRel(reduce_s, 2e-3));
}

TEST_CASE("small collectives through host memory pay its steps", "[physics]") {
  const double base = h200("nccl.host.LL.base_s"), hop = h200("nccl.host.LL.hop_s");
  CHECK_THAT(time_of(without_peers("all_reduce", {0, 1, 2, 3}, 8)), WithinRel(base + 6 * hop, 1e-2));
  CHECK_THAT(time_of(without_peers("all_gather", {0, 1, 2}, 24)), WithinRel(base + 2 * hop, 1e-2));
}

TEST_CASE("the memory of the other socket takes twice as long where nobody measured it", "[physics]") {
  const auto copy = [](const char* platform, const char* to) {
    return answer_to({{"kind", "p2p"}, {"platform", platform}, {"src", "gpu0"}, {"dst", to}, {"size_B", 1024 * kMiB}});
  };
  for (const char* platform : {"hgx-h100", "rtx-4090"}) {
    const Json near = copy(platform, "cpu0"), far = copy(platform, "cpu1");
    INFO(platform);
    CHECK_THAT(time_of(far) / time_of(near), WithinRel(2, 1e-3));
    // 1.2 times as long on POWER9, 3 to 5 times as owners of x86 machines report
    CHECK(far.at("time_low_s").get<double>() < 1.2 * time_of(near));
    CHECK(far.at("time_high_s").get<double>() > 4 * time_of(near));
    CHECK(far.dump().find("memory of the other socket") != std::string::npos);
    CHECK(near.dump().find("memory of the other socket") == std::string::npos);
  }
  // NVLinks to the CPU and an X-bus: measured as rates of its host copies
  CHECK(copy("summit", "cpu1").dump().find("memory of the other socket") == std::string::npos);
}

// source: calibrate/data/l40s: two GPUs 20 GB/s on the bus, eight 1.2 to 1.5
TEST_CASE("NCCL 2.27 below AMD sockets: two GPUs are peers, more go through host memory", "[physics]") {
  const double size = 1024 * kMiB;
  const auto gather = [&](const std::vector<int>& gpus) {
    return answer_to(
        {{"kind", "collective"}, {"platform", "l40s"}, {"op", "all_gather"}, {"gpus", gpus}, {"size_B", size}});
  };
  CHECK(gather({0, 1}).at("fallback") == false);
  const Json four = gather({0, 1, 2, 3});
  CHECK(four.at("fallback") == true);
  const auto l40s = [](const char* name) { return parameter("l40s", name); };
  const double up = l40s("transport.d2h_sm.r2.bandwidth_Bps"), down = l40s("transport.h2d_sm.r4.bandwidth_Bps");
  const double x = l40s("cable.pcie4.kernel_duplex_Bps") / 2, steps = 3;
  const double byte_s = (1 / std::min(up, l40s("cable.pcie4.to_host_Bps")) +
                         1 / std::min(down, l40s("cable.pcie4.from_host_Bps")) + (steps - 1) / x) /
                        steps;
  CHECK_THAT(time_of(four), WithinRel(size * 3 / 4 * byte_s / l40s("nccl.host@2.27.data_share"), 1e-2));
  // of all eight, measured: 400 ms of 512 MiB
  const Json eight = gather({0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(eight.at("time_low_s").get<double>() < 0.8);
  CHECK(eight.at("time_high_s").get<double>() > 0.8);
}

// measured: two pairs of GPUs that all_reduce 256 MiB at once, 11.9 ms each; one alone 9.5 ms
TEST_CASE("two pairs through host memory slow each other", "[physics]") {
  const Json other{{"with", Json::array({{{"op", "all_reduce"}, {"gpus", {2, 3}}, {"size_B", 256 * kMiB}}})}};
  const double alone = time_of(without_peers("all_reduce", {0, 1}, 256 * kMiB));
  const double together = time_of(without_peers("all_reduce", {0, 1}, 256 * kMiB, other));
  CHECK_THAT(alone, WithinRel(9.5e-3, 0.05));
  CHECK_THAT(together, WithinRel(11.9e-3, 0.08));
  CHECK_THAT(time_of(without_peers(
                 "all_reduce", {0, 1}, 256 * kMiB,
                 {{"with", Json::array({{{"op", "all_reduce"}, {"gpus", {4, 5}}, {"size_B", 256 * kMiB}}})}})),
             WithinRel(alone, 1e-6));  // another socket's memory
}

TEST_CASE("a machine whose host memory was not measured says so", "[physics]") {
  Json query{{"kind", "collective"}, {"platform", "v100-dgx1"}, {"op", "all_reduce"}, {"size_B", 64 * kMiB}};
  query["gpus"] = {0, 1, 2, 3};
  query["edits"] = {"disable p2p"};
  CHECK(answer_to(query)["warnings"].dump().find("host memory was never measured on v100-dgx1") != std::string::npos);
}

}  // namespace linkcast::test::host_memory_test
