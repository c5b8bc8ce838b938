// all_reduce with multicast by the NVSwitch: what each link carries, against the closed form.
#include "sim/activities/channel_flows.hpp"
#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::nvls_test {

namespace {

Json ask(const std::string& platform, int gpus, double size_B, const Json& more) {
  Json query{
      {"platform", platform}, {"kind", "collective"}, {"launch", "graph"}, {"op", "all_reduce"}, {"size_B", size_B}};
  for (int k = 0; k < gpus; ++k) query["gpus"].push_back(k);
  query.update(more);
  return query::answer(catalogue(), query);
}

Json result(int gpus, double size_B, const Json& more) {
  Json found = ask("hgx-h200", gpus, size_B, more);
  INFO(found.dump());
  REQUIRE(found.value("error", "") == "");
  return found;
}

}  // namespace

TEST_CASE("with multicast each GPU sends n + 1 parts of n and receives as many", "[physics]") {
  const Platform& platform = catalogue().platform("hgx-h200");
  for (const int n : {4, 8}) {
    std::vector<int> members;
    for (int k = 0; k < n; ++k) members.push_back(k);
    const activities::ProblemBuilder builder(platform);
    std::vector<double> carried(platform.constraints().size(), 0);
    for (const int head : members)
      for (const Use& use : activities::multicast_activity(builder, members, head, 1.0).uses)
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

TEST_CASE("the time of multicast is that of the busier direction", "[physics]") {
  const Parameter* link = catalogue().platform("hgx-h200").calibration().find("cable.nvlink4.bandwidth_Bps");
  REQUIRE(link != nullptr);
  const double rate = 18 * link->value * (128.0 / 144) / (256.0 / 272);
  for (const int n : {3, 4, 8}) {
    const Json nvls = result(n, 512 * kMiB, {{"algorithm", "nvls"}});
    const double flow = nvls["time_s"].get<double>() - nvls["latency_s"].get<double>();
    CHECK_THAT(flow, WithinRel(512 * kMiB * (1 + 1.0 / n + 16.0 / 144) / rate, 1e-9));
    CHECK_THAT(nvls["latency_s"].get<double>(), WithinRel(25e-6, 1e-12));  // the library's, from 2.22 on
    CHECK(nvls["algorithm"] == "nvls");
    CHECK(nvls["channels"].size() == static_cast<std::size_t>(n));
    CHECK(nvls["warnings"].dump().find("multicast by NVSwitch was off") != std::string::npos);
  }
}

TEST_CASE("multicast is only taken where the machine is said to offer it", "[physics]") {
  CHECK(result(8, 512 * kMiB, Json::object())["algorithm"] == "ring");
  const Json offered = result(8, 512 * kMiB, {{"nvls", true}});
  CHECK(offered["algorithm"] == "nvls");  // 8 H200: from 2 MiB on, SOURCES.md
  CHECK(result(8, 512 * kMiB, {{"protocol", "Simple"}})["algorithm"] == "ring");
  const auto nvls_of = [](const Json& alternatives) {
    for (const Json& other : alternatives)
      if (other["algorithm"] == "nvls") return other["time_s"].get<double>();
    return 0.0;
  };
  const Json small = result(8, 65536, {{"nvls", true}, {"alternatives", true}});
  CHECK(small["algorithm"] != "nvls");
  CHECK(nvls_of(small["alternatives"]) == result(8, 65536, {{"algorithm", "nvls"}})["time_s"].get<double>());
  CHECK(nvls_of(result(8, 65536, {{"alternatives", true}})["alternatives"]) == 0.0);
}

TEST_CASE("multicast is refused where library, machine or operation have none", "[physics]") {
  const auto error = [](const std::string& platform, Json more) {
    more["algorithm"] = "nvls";
    return ask(platform, 4, kMiB, more).value("error", "");
  };
  CHECK(error("hgx-h200", {{"library", "nccl-2.3"}}) == "query: algorithm: nccl-2.3 has no NVLS");
  CHECK(error("hgx-h200", {{"library", "nccl-2.12"}}) == "query: nccl-2.12 has no nvls for all_reduce here");
  CHECK(error("dgx-a100", {{"library", "nccl-2.18"}}) == "query: nccl-2.18 has no nvls for all_reduce here");
  CHECK(error("hgx-h200", {{"op", "broadcast"}}).find("has no nvls for broadcast here") != std::string::npos);
}

}  // namespace linkcast::test::nvls_test
