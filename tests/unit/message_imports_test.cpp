// perftest, ucx_perftest and DCGM's diagnosis. Figures are made up.
#include "tests/unit/import_support.hpp"

namespace linkcast::test::message_imports_test {

namespace {

const Options kHosts{{"src", "cpu0"}, {"dst", "cpu0"}};
const Options kGpus{{"src", "gpu0"}, {"dst", "gpu0"}};

std::string refused(const std::string& format, const std::string& text, const Options& options) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "FILE").string();
  std::ofstream(path) << text;
  std::string what = error_of(format, {path}, options);
  for (auto at = what.find(path); at != std::string::npos; at = what.find(path)) what.replace(at, path.size(), "FILE");
  return what;
}

}  // namespace

TEST_CASE("perftest: ib_write_bw in Gb/sec between hosts", "[unit][import]") {
  const Measurement m = imported("perftest", "perftest-write-bw.txt", kHosts);
  REQUIRE(m.points.size() == 3);
  CHECK(m.timing == "back_to_back");
  CHECK(m.points[1].between_nodes);
  CHECK(m.points[1].transport == "mpi");
  CHECK_THAT(m.points[1].time_s[0], WithinRel(65536 / (197.43e9 / 8), 1e-12));
  CHECK(has_note(m, "assumed: verbs between hosts"));
}

TEST_CASE("perftest: both directions from GPU memory in MB/sec of 2^20 bytes", "[unit][import]") {
  const Measurement m = imported("perftest", "perftest-send-gpu.txt", kGpus);
  REQUIRE(m.points.size() == 1);
  CHECK(m.points[0].transport == "gpudirect_rdma");
  CHECK(m.points[0].bidirectional);
  CHECK_THAT(m.points[0].time_s[0], WithinRel(2 * 65536 / (44872.25 * 1048576), 1e-12));
  CHECK(error_of("perftest", {sample_path("perftest-send-gpu.txt")}, kHosts).find("buffers are in GPU memory") !=
        std::string::npos);
}

TEST_CASE("perftest: latencies are single messages, not mixed with rates", "[unit][import]") {
  const Measurement m = imported("perftest", "perftest-write-lat.txt", kHosts);
  CHECK(m.timing == "single");
  CHECK_THAT(m.points[0].time_s[0], WithinRel(1.03e-6, 1e-12));
  CHECK(error_of("perftest", {sample_path("perftest-write-lat.txt"), sample_path("perftest-write-bw.txt")}, kHosts)
            .find("timed differently") != std::string::npos);
}

TEST_CASE("perftest: errors name file and line", "[unit][import]") {
  const std::string good = text_of_file(sample_path("perftest-write-bw.txt"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    REQUIRE(text.find(from) != std::string::npos);
    return refused("perftest", text.replace(text.find(from), from.size(), to), kHosts);
  };
  CHECK(refused("perftest", "no table", kHosts).find("FILE: is no output of perftest") == 0);
  CHECK(refused("perftest", good, {}).find("option src and option dst: are needed") == 0);
  CHECK(with("BW average[Gb/sec]", "BW median[Gb/sec]").find("FILE:19: the head of the table is due") == 0);
  CHECK(with("197.43", "-3").find("FILE:21: '-3' is not a number above 0") == 0);
  CHECK(with("197.43", "").find("FILE:21: has 4 values for 5 columns") == 0);
  CHECK(with(" 4096 ", " 99999999999999999999 ").find("FILE:20: size '99999999999999999999'") == 0);
}

TEST_CASE("ucx_perftest: overall rate of a window, in MB of 2^20 bytes", "[unit][import]") {
  const Measurement m = imported("ucx_perftest", "ucx-tag-bw.txt", {{"src", "gpu0"}, {"dst", "gpu1"}});
  REQUIRE(m.points.size() == 1);
  CHECK(m.timing == "back_to_back");
  CHECK(!m.points[0].between_nodes);
  CHECK(m.points[0].size_B == 8388608);
  CHECK_THAT(m.points[0].time_s[0], WithinRel(8388608 / (86490.0 * 1048576), 1e-12));
}

TEST_CASE("ucx_perftest: a table alone needs the size, latency is of one message", "[unit][import]") {
  const std::string good = text_of_file(sample_path("ucx-tag-bw.txt"));
  const Options ends{{"src", "gpu0"}, {"dst", "gpu1"}};
  const std::string table = good.substr(good.find("+--------------+"));
  CHECK(refused("ucx_perftest", table, ends).find("option size: is needed") == 0);
  CHECK(refused("ucx_perftest", table.substr(table.find("[thread")), ends).find("FILE:2: the head of the table") == 0);
  CHECK(refused("ucx_perftest", good, {{"src", "cpu0"}, {"dst", "cpu1"}}).find("does not fit FILE") !=
        std::string::npos);
  CHECK(refused("ucx_perftest", "Final: 3", ends).find("FILE:1: ") == 0);
}

TEST_CASE("dcgm: copies of the PCIe test with the host, nvbandwidth's by its own importer", "[unit][import]") {
  const Measurement m = imported("dcgm", "dcgm-diag.json");
  REQUIRE(m.points.size() == 5);
  CHECK_THAT(times_of(m.points, {"host", "gpu0", "host", 40e6})[0], WithinRel(40e6 / 25.91e9, 1e-12));
  CHECK_THAT(times_of(m.points, {"host", "host", "gpu1", 40e6})[0], WithinRel(40e6 / 12.31e9, 1e-12));
  CHECK_THAT(times_of(m.points, {"host", "host", "gpu0", 40e6, "", true})[0], WithinRel(80e6 / 38.25e9, 1e-12));
  CHECK(has_note(m, "finding: the PCIe test of GPU 1 says Fail."));
  CHECK(has_note(m, "Left out: latencies"));
  const Measurement n = imported("nvbandwidth", "dcgm-diag.json");
  REQUIRE(n.points.size() == 2);
  CHECK(n.points[0].transport == "peer");
}

TEST_CASE("dcgm: errors name file and pointer", "[unit][import]") {
  CHECK(refused("dcgm", "{}", {}).find("FILE: is no JSON of dcgmi diag") == 0);
  CHECK(refused("dcgm", R"({"DCGM Diagnostic": {"test_categories": [{"tests": [{"name": "pcie", "results": [{}]}]}]}})",
                {})
            .find("FILE:/DCGM Diagnostic/test_categories/0/tests/0/results/0/status: missing key") == 0);
  CHECK(refused("dcgm", R"({"DCGM Diagnostic": 3})", {}).find("FILE:/DCGM Diagnostic: must be an object") == 0);
}

}  // namespace linkcast::test::message_imports_test
