// all_reduce with multicast by the NVSwitch: what each link carries, against the closed form.
#include <algorithm>

#include "sim/plan/channel_flows.hpp"
#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::nvls_test {

namespace {

Json ask(const std::string& platform, int gpus, double size_B, const Json& more) {
  Json query{
      {"platform", platform}, {"kind", "collective"}, {"launch", "graph"}, {"op", "all_reduce"}, {"size_B", size_B}};
  for (int k = 0; k < gpus; ++k) query["gpus"].push_back(k);
  query.update(more);
  return query::answer(catalogue(), query);
}

Json result(int gpus, double size_B, const Json& more, const std::string& platform = "hgx-h200") {
  Json found = ask(platform, gpus, size_B, more);
  INFO(found.dump());
  REQUIRE(found.value("error", "") == "");
  return found;
}

/// hgx-h200 that knows nothing of NCCL but this.
std::string taught(const std::string& id, const Values& nccl) {
  catalogue().adopt(id, catalogue().machine("hgx-h200")->platform().wiring(), made_calibration("hgx-h200", nccl));
  return id;
}

double flow(const Json& r) { return r["time_s"].get<double>() - r["latency_s"].get<double>(); }

/// 512 MiB on n Hopper GPUs, whose 16 blocks take 128 KiB of each head's part in a round, of less than 64 rounds half
/// as much; a chunk passes three stages.
double rounds(int n) { return 512 * kMiB / (n * 16 * (n > 4 ? 64 : 128) * 1024.0); }
double filled(int n) { return 1 + 2 / rounds(n); }

}  // namespace

TEST_CASE("with multicast each GPU sends n + 1 parts of n and receives as many", "[physics]") {
  const Platform& platform = catalogue().machine("hgx-h200")->platform();
  for (const int n : {4, 8}) {
    std::vector<int> members;
    for (int k = 0; k < n; ++k) members.push_back(k);
    const activities::ProblemBuilder builder(platform);
    std::vector<double> carried(platform.constraints().size(), 0);
    for (const int head : members)
      for (const Use& use : activities::multicast_activity(builder, members, head, {1.0}).uses)
        carried[static_cast<std::size_t>(use.constraint)] += use.weight;
    for (const int k : members) {
      const auto out =
          static_cast<std::size_t>(platform.peer_route(platform.gpu(k), platform.gpu((k + 1) % n))->links.front());
      const double request = 16.0 / 144;  // a header for each line of 128 bytes and its header
      CHECK_THAT(carried[out], WithinRel(n + 1 + request, 1e-12));          // its own requests
      CHECK_THAT(carried[out ^ 1], WithinRel(n + 1 + n * request, 1e-12));  // every head's
    }
  }
}

TEST_CASE("all_gather only stores, reduce_scatter only loads", "[physics]") {
  const Platform& platform = catalogue().machine("hgx-h200")->platform();
  const std::vector<int> members = {0, 1, 2, 3};
  const activities::ProblemBuilder builder(platform);
  const double request = 16.0 / 144;
  for (const bool loads : {false, true}) {
    std::vector<double> carried(platform.constraints().size(), 0);
    for (const int head : members)
      for (const Use& use : activities::multicast_activity(builder, members, head, {1.0, loads, !loads}).uses)
        carried[static_cast<std::size_t>(use.constraint)] += use.weight;
    const auto out = static_cast<std::size_t>(platform.peer_route(platform.gpu(0), platform.gpu(1))->links.front());
    CHECK_THAT(carried[out], WithinRel(loads ? 4 + request : 1, 1e-12));
    CHECK_THAT(carried[out ^ 1], WithinRel(loads ? 1 + 4 * request : 4, 1e-12));
  }
}

/// What the library counts on, of the links that it counts, with 8 Hopper GPUs: 8 channels of 40 GB/s at 0.85 on 18
/// links of 20.6 GB/s, each of which carries 1 + 1/8 and headers of 1/9. source: models/libraries/SOURCES.md
constexpr double kShare = 8 * 40 * 0.85 * (1 + 1.0 / 8 + 16.0 / 144) / (18 * 20.6);

TEST_CASE("the time of multicast is that of the busier direction", "[physics]") {
  const double rate = 18 * parameter("hgx-h200", "cable.nvlink4.bandwidth_Bps") * (128.0 / 144) / (256.0 / 272);
  const std::string unlearned = taught("nvls-unlearned", {});
  for (const int n : {3, 4, 8}) {
    const Json nvls = result(n, 512 * kMiB, {{"algorithm", "nvls"}}, unlearned);
    const double crossed_B = 512 * kMiB * (1 + 1.0 / n + 16.0 / 144);
    CHECK_THAT(flow(nvls), WithinRel(filled(n) * crossed_B / (kShare * rate), 1e-9));
    CHECK_THAT(
        nvls["latency_s"].get<double>(),
        WithinRel(25e-6 + (rounds(n) + 2) * 5e-6, 1e-12));  // the library's, from 2.22 on, and what a round takes
    CHECK(nvls["algorithm"] == "nvls");
    CHECK(nvls["channels"].size() == static_cast<std::size_t>(n));
    CHECK(nvls["warnings"].dump().find("multicast by NVSwitch attains") != std::string::npos);
    // The machine's own share and start-up, in a queue and in a CUDA graph
    const Json learned = result(n, 512 * kMiB, {{"algorithm", "nvls"}, {"launch", "queue"}});
    const double share = std::min(1.0, parameter("hgx-h200", "nccl.nvls@2.27.link_share"));
    CHECK_THAT(flow(learned), WithinRel(filled(n) * crossed_B / (share * rate), 1e-9));
    const double start_s = parameter("hgx-h200", "nccl.nvls@2.27.base_s") +
                           (rounds(n) + 2) * parameter("hgx-h200", "nccl.nvls@2.27.chunk_s");
    CHECK_THAT(learned["latency_s"].get<double>(), WithinRel(start_s, 1e-12));
    CHECK_THAT(result(n, 512 * kMiB, {{"algorithm", "nvls"}})["latency_s"].get<double>(),
               WithinRel(start_s - parameter("hgx-h200", "nccl.graph.sooner_s"), 1e-9));
    CHECK(learned["warnings"].dump().find("multicast by NVSwitch") == std::string::npos);
  }
}

TEST_CASE("8 H100 reach what nccl-tests is said to show, which entered no fit", "[physics]") {
  // 475 GB/s of bus with NVLS, 364 with rings: what is reported of HGX H100 at 1 GiB. No record of it is in this tree.
  const auto bus = [](const Json& more) {
    return ask("hgx-h100", 8, 1024 * kMiB, more)["busbw_Bps"].get<double>() / 1e9;
  };
  // By multicast's share on H200, which the same on H100 may differ from by 10 %: half of that.
  CHECK_THAT(bus(Json::object()), WithinRel(475.0, 0.05));
  CHECK_THAT(bus({{"nvls", false}}), WithinRel(364.0, 0.05));
}

TEST_CASE("multicast is taken where it pays, unless it is left out", "[physics]") {
  CHECK(result(8, 512 * kMiB, Json::object())["algorithm"] == "nvls");  // 8 H200: from 2 MiB on, SOURCES.md
  CHECK(result(8, 512 * kMiB, {{"nvls", false}})["algorithm"] == "ring");
  CHECK(result(8, 512 * kMiB, {{"protocol", "LL128"}})["algorithm"] == "ring");
  CHECK(result(2, 512 * kMiB, Json::object())["algorithm"] == "ring");  // of two GPUs there is none
  const auto nvls_of = [](const Json& alternatives) {
    for (const Json& other : alternatives)
      if (other["algorithm"] == "nvls") return other["time_s"].get<double>();
    return 0.0;
  };
  const Json small = result(8, 65536, {{"alternatives", true}});
  CHECK(small["algorithm"] != "nvls");
  CHECK(nvls_of(small["alternatives"]) == result(8, 65536, {{"algorithm", "nvls"}})["time_s"].get<double>());
  CHECK(nvls_of(result(8, 65536, {{"nvls", false}, {"alternatives", true}})["alternatives"]) == 0.0);
}

TEST_CASE("a round of chunks by multicast is as large as NCCL cuts it", "[physics]") {
  // NCCL 2.30.7, calcCollChunking() in src/enqueue.cc: 128 KiB, of less than 64, 8 and 2 rounds 64, 32 and 16 KiB
  struct Cut {
    const char* op;
    double size_B, rounds;  ///< with the stages that wait for the one before
  };
  const auto start_s = [](const Cut& cut, double chunk_s) {
    const std::string id = taught("nvls-chunk-" + std::to_string(chunk_s), {{"nvls.chunk_s", chunk_s}});
    return result(8, cut.size_B, {{"op", cut.op}, {"algorithm", "nvls"}}, id)["latency_s"].get<double>();
  };
  for (const Cut& cut :
       {Cut{"all_reduce", 8, 1 + 2}, Cut{"all_reduce", 4 * kMiB, 2 + 2}, Cut{"all_reduce", 32 * kMiB, 8 + 2},
        Cut{"all_reduce", 64 * kMiB, 8 + 2}, Cut{"all_reduce", 1024 * kMiB, 64 + 2}, Cut{"all_gather", 4 * kMiB, 2 + 1},
        Cut{"reduce_scatter", 4 * kMiB, 2 + 1}}) {
    INFO(cut.op << " " << cut.size_B);
    CHECK_THAT(start_s(cut, 3e-3) - start_s(cut, 2e-3), WithinRel(cut.rounds * 1e-3, 1e-9));
  }
}

TEST_CASE("without NVLink there is no multicast, and without peers neither", "[physics]") {
  for (const char* edit : {"disable nvlink", "disable p2p"})
    CHECK(result(8, 512 * kMiB, {{"edits", Json::array({edit})}})["algorithm"] == "ring");
}

TEST_CASE("what was measured of multicast is taken, and fits the interval", "[physics]") {
  const auto with = [](const std::string& id, const Values& nccl) {
    return result(8, 512 * kMiB, Json::object(), taught(id, nccl));
  };
  const Json at_prior = with("nvls-prior", {});
  const Json slow = with("nvls-slow", {{"nvls.channel_Bps", 5e9}});
  // 16 blocks of 5 GB/s move 80 GB/s, less than the links
  CHECK_THAT(flow(slow), WithinRel(filled(8) * 512 * kMiB / 80e9, 1e-9));
  CHECK(slow["bottleneck"] == Json::array());
  const Json half = with("nvls-half", {{"nvls.link_share", 0.5}});
  CHECK_THAT(flow(half) / flow(at_prior), WithinRel(kShare / 0.5, 1e-9));
  CHECK(half["warnings"].dump().find("multicast by NVSwitch attains") == std::string::npos);
}

TEST_CASE("more GPUs than heads: 32 of a rack's 72 multicast", "[physics]") {
  const Json rack = ask("gb200-nvl72", 72, 1024 * kMiB, {{"algorithm", "nvls"}});
  REQUIRE(rack.value("error", "") == "");
  CHECK(rack["channels"].size() == 32);
}

TEST_CASE("multicast is refused where library, machine or operation have none", "[physics]") {
  const auto error = [](const std::string& platform, Json more) {
    more["algorithm"] = "nvls";
    return ask(platform, 4, kMiB, more).value("error", "");
  };
  CHECK(error("hgx-h200", {{"library", "nccl-2.3"}}) == "query: algorithm: nccl-2.3 has no nvls");
  CHECK(error("hgx-h200", {{"library", "nccl-2.12"}}) == "query: nccl-2.12 has no nvls for all_reduce here");
  CHECK(error("dgx-a100", {{"library", "nccl-2.18"}}) == "query: nccl-2.18 has no nvls for all_reduce here");
  CHECK(error("hgx-h200", {{"op", "broadcast"}}).find("has no nvls for broadcast here") != std::string::npos);
  CHECK(error("hgx-h200", {{"op", "all_gather"}, {"library", "nccl-2.18"}}).find("has no nvls") != std::string::npos);
  CHECK(error("hgx-h200", {{"op", "all_gather"}, {"library", "nccl-2.22"}}).empty());
  CHECK(error("hgx-h200", {{"nvls", false}}).find("leaves out the algorithm nvls") != std::string::npos);
}

}  // namespace linkcast::test::nvls_test
