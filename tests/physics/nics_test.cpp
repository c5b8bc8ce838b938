// What the choice of NICs makes of two nodes: rates against what such machines are reported to reach, PXN, GPUDirect.
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::nics_test {

namespace {

constexpr double kLarge_B = 8.0 * 1024 * 1024 * 1024, kGiga = 1e9;

Json asked(const std::string& platform, const std::string& library, const std::string& op, const Json& more) {
  Json query{{"platform", platform}, {"kind", "collective"}, {"op", op}, {"library", library}, {"nodes", 2}};
  query["size_B"] = kLarge_B;
  query.update(more);
  return query::answer(test::catalogue(), query);
}

Json forecast(const std::string& platform, const std::string& library, const std::string& op,
              const Json& more = Json::object()) {
  Json out = asked(platform, library, op, more);
  INFO(out.value("error", ""));
  REQUIRE(out.contains("time_s"));
  return out;
}

double busbw_GBps(const Json& answer) { return answer["busbw_Bps"].get<double>() / kGiga; }
double seconds(const Json& answer, const char* key = "time_s") { return answer[key].get<double>(); }

Json rings(const std::string& platform, const std::string& library) {
  return query::answer(test::catalogue(),
                       {{"platform", platform}, {"kind", "rings"}, {"library", library}, {"nodes", 2}});
}

}  // namespace

TEST_CASE("two DGX A100: eight rings, each in and out by one NIC, at the rate of eight HDR ports", "[physics][nics]") {
  for (const char* library : {"nccl-2.8", "nccl-2.12"}) {
    INFO(library);
    const Json made = rings("dgx-a100", library);
    REQUIRE(made["channels"].size() == 8);
    // source: what NCCL prints there, "0 7 6 5 4 3 2 1 8 15 14 ...": models/libraries/SOURCES.md
    CHECK(made["channels"][0] == Json({0, 7, 6, 5, 4, 3, 2, 1}));
    CHECK_FALSE(made["swaps_rings"].get<bool>());
    for (const Json& ring : made["nics"]) CHECK(ring["in"]["nic"] == ring["out"]["nic"]);
    // source: 8 ports of 25 GB/s; users of rail-optimised pods report 185 to 192 GB/s
    const double busbw = busbw_GBps(forecast("dgx-a100", library, "all_reduce", {{"algorithm", "ring"}}));
    CHECK(busbw > 180);
    CHECK(busbw < 8 * 25);
  }
}

TEST_CASE("two HGX H100: rings cross the NICs and change places in the second node", "[physics][nics]") {
  const Json made = rings("hgx-h100", "nccl-2.18");
  REQUIRE(made["channels"].size() == 8);
  // source: what NCCL prints there, "0 7 6 5 4 3 2 1 9 10 11 12 13 14 15 8": models/libraries/SOURCES.md
  CHECK(made["channels"][0] == Json({0, 7, 6, 5, 4, 3, 2, 1}));
  CHECK(made["channels"][1] == Json({1, 2, 3, 4, 5, 6, 7, 0}));
  CHECK(made["swaps_rings"].get<bool>());
  CHECK(made["nics"][0]["out"]["nic"] == made["nics"][1]["in"]["nic"]);
  // source: 8 NDR ports of 50 GB/s; users report 370 to 390 GB/s without reduction in the switches
  const double busbw = busbw_GBps(forecast("hgx-h100", "nccl-2.18", "all_reduce", {{"algorithm", "ring"}}));
  CHECK(busbw > 360);
  CHECK(busbw < 8 * 50);
}

TEST_CASE("messages by PXN stay on the receiver's rail, all of them together are as each by itself",
          "[physics][nics]") {
  const Json small{{"nodes", 4}, {"size_B", 1048576}};
  Json crossing = small;
  crossing["pxn"] = false;
  // Ways that are not fixed by pair, which the reduced form needs.
  Json direct = small;
  direct["edits"] = {
      "fabric single_switch:routing=adaptive,nodes=4,radix=32,links.host.cable=ib_ndr,links.host.bandwidth=50GB/s,"
      "links.host.latency=75ns"};
  Json reduced = direct;
  direct["engine"] = "direct";
  reduced["engine"] = "reduced";
  const Json rails = forecast("hgx-h100", "nccl-2.18", "alltoall", small);
  const Json spines = forecast("hgx-h100", "nccl-2.18", "alltoall", crossing);
  CHECK(seconds(rails, "latency_s") < seconds(spines, "latency_s"));  // one switch instead of three
  CHECK_THAT(seconds(forecast("hgx-h100", "nccl-2.18", "alltoall", direct)),
             WithinRel(seconds(forecast("hgx-h100", "nccl-2.18", "alltoall", reduced)), 1e-9));
  // Without spines to speak of, what crosses rails waits for them.
  const Json thin{{"nodes", 4}, {"edits", {"fabric rail_optimized:links.leaf_spine.bandwidth=5GB/s"}}};
  Json thin_crossing = thin;
  thin_crossing["pxn"] = false;
  CHECK(seconds(forecast("hgx-h100", "nccl-2.18", "alltoall", thin)) <
        0.5 * seconds(forecast("hgx-h100", "nccl-2.18", "alltoall", thin_crossing)));
}

TEST_CASE("without GPUDirect all that GPUs send and receive crosses the switches' cables to the CPUs",
          "[physics][nics]") {
  const double with = busbw_GBps(forecast("dgx-a100", "nccl-2.8", "all_reduce", {{"algorithm", "ring"}}));
  const Json without =
      forecast("dgx-a100", "nccl-2.8", "all_reduce", {{"algorithm", "ring"}, {"edits", {"disable gpudirect"}}});
  // Four switches with 24 GB/s up: a NIC's or its GPUs' 24 each way are all that one carries, so two rings of 24.
  CHECK(without["channels"].size() == 2);
  CHECK(without["warnings"].dump().find("edit 'disable gpudirect': data between adapters") != std::string::npos);
  CHECK(busbw_GBps(without) < with / 3);
  CHECK(busbw_GBps(without) > with / 5);
  const Json twice{{"edits", {"disable gpudirect", "disable gpudirect"}}};
  CHECK(asked("dgx-a100", "nccl-2.8", "all_reduce", twice).value("error", "") != "");
}

TEST_CASE("what is assumed between nodes is said once", "[physics][nics]") {
  int said = 0;
  const Json answer = forecast("mi300x", "rccl-2.21", "all_reduce");
  for (const Json& warning : answer["warnings"])
    if (warning.get<std::string>().find("between nodes") != std::string::npos) ++said;
  CHECK(said == 1);
}

TEST_CASE("pxn is refused where there is no choice", "[physics][nics]") {
  CHECK(asked("dgx-a100", "nccl-2.8", "all_reduce", {{"pxn", false}}).value("error", "").find("2.12") !=
        std::string::npos);
}

}  // namespace linkcast::test::nics_test
