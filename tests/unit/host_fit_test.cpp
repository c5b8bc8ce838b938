// Host memory and hops through it, from measurements made up to a law.
#include "sim/records/host_pattern.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::host_fit_test {

namespace {

MeasuredFlows group(const std::vector<MeasuredFlows::Flow>& flows, double rate_Bps) {
  MeasuredFlows made;
  made.pattern = "all";
  made.flows = flows;
  made.engine = "ce";
  double bytes = 0;
  for (const auto& flow : flows) bytes += flow.size_B;
  made.time_s = {bytes / rate_Bps, bytes / rate_Bps};
  return made;
}

MeasuredCollective collective(const std::string& op, const std::vector<int>& gpus, double size_B, double time_s) {
  MeasuredCollective c;
  c.op = op;
  c.gpus = gpus;
  c.size_B = size_B;
  c.time_s = {time_s, time_s};
  return c;
}

}  // namespace

TEST_CASE("host patterns are told by their ends", "[unit]") {
  CHECK(host_pattern(group({{"host", "gpu0", 1e8}, {"host", "gpu1", 1e8}}, 1e9)) == HostPattern::kRead);
  CHECK(host_pattern(group({{"gpu0", "host", 1e8}, {"gpu1", "host", 1e8}}, 1e9)) == HostPattern::kWrite);
  CHECK(host_pattern(group({{"gpu0", "host", 1e8}, {"host", "gpu1", 1e8}}, 1e9)) == HostPattern::kBoth);
  CHECK(host_pattern(group({{"gpu0", "host", 1e8}, {"host", "gpu0", 1e8}}, 1e9)) == HostPattern::kNone);
  CHECK(host_pattern(group({{"gpu0", "gpu1", 1e8}, {"host", "gpu1", 1e8}}, 1e9)) == HostPattern::kNone);
  CHECK_FALSE(shows_host_memory(group({{"host", "gpu0", 1e6}, {"host", "gpu1", 1e6}}, 1e9)));  // stays in caches
}

TEST_CASE("only small and large ones of two GPUs without peer access enter a fit", "[unit]") {
  Measurement m;
  m.peer_access = false;
  CHECK(shows_host_path(m, collective("all_reduce", {0, 1}, 8, 1e-5)));
  CHECK(shows_host_path(m, collective("all_gather", {0, 1}, 536870912, 1e-2)));
  CHECK_FALSE(shows_host_path(m, collective("all_reduce", {0, 1}, 1048576, 1e-4)));
  CHECK_FALSE(shows_host_path(m, collective("all_reduce", {0, 1, 2}, 8, 1e-5)));
  CHECK_FALSE(shows_host_path(m, collective("sendrecv", {0, 1}, 8, 1e-5)));
  m.peer_access = true;
  CHECK_FALSE(shows_host_path(m, collective("all_reduce", {0, 1}, 8, 1e-5)));
}

TEST_CASE("settings of the method say that peer access was off", "[unit]") {
  const Json json = Json::parse(R"({"schema":"measurement/1","id":"x","machine":"m","topology":"t","bench":"nccl_ops",
    "source":"test","timing":"back_to_back","environment":{},"method":{"settings":"NCCL_NVLS_ENABLE=0, NCCL_P2P_DISABLE=1"},
    "points":[{"op":"all_reduce","gpus":[0,1],"size_B":8,"time_s":[1e-5]}]})");
  Json other = json;
  other["method"]["settings"] = "NCCL_NVLS_ENABLE=0";
  CHECK_FALSE(parse_measurement(json, test::data_dir() + "/LICENSE").peer_access);
  CHECK(parse_measurement(other, test::data_dir() + "/LICENSE").peer_access);
  CHECK(parse_measurement(other, test::data_dir() + "/LICENSE").nvls == false);
  other["method"]["settings"] = "NCCL_NVLS_ENABLE=2";
  CHECK(parse_measurement(other, test::data_dir() + "/LICENSE").nvls == true);
  other["method"]["settings"] = "none";
  CHECK_FALSE(parse_measurement(other, test::data_dir() + "/LICENSE").nvls.has_value());
}

}  // namespace linkcast::test::host_fit_test
