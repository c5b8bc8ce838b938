// Logs as people post them: what launchers, terminals and other processes put around a benchmark's own lines.
#include "calibrate/import/log_text.hpp"
#include "tests/unit/import_support.hpp"

namespace linkcast::test::their_logs_test {

namespace {

const MeasuredCollective& collective(const Measurement& m, const std::string& op, double size_B, bool in_place) {
  for (const MeasuredCollective& c : m.collectives)
    if (c.op == op && c.size_B == size_B && c.in_place == in_place) return c;
  FAIL("no " << op << " of " << size_B << " B");
  throw;
}

double time_s(const Measurement& m, const std::string& op, double size_B, bool in_place = false) {
  return collective(m, op, size_B, in_place).time_s.at(0);
}

}  // namespace

TEST_CASE("launchers' prefixes, colours and stamps are taken off a line", "[unit][import]") {
  const auto plain = [](const std::string& line) { return plain_log_lines("log.txt", line).at(0); };
  CHECK(plain("[1,0]<stdout>:#  Rank  0 Pid 1") == "#  Rank  0 Pid 1");
  CHECK(plain("[1,12]<stderr>: text") == "text");
  CHECK(plain("[prterun-box-4242@1,0]<stdout>: # size") == "# size");
  CHECK(plain("[prterun-box-4242@1,0][box:4250]<stdout>: # size") == "# size");
  CHECK(plain(" 3:      1024   256 float") == "     1024   256 float");
  CHECK(plain("2024-05-06T11:02:03.250Z [1,0]<stdout>:# size") == "# size");
  CHECK(plain("Fri Jun  7 08:09:10 2025[1,0]<stdout>:# size") == "# size");
  CHECK(plain("[2024-05-06 11:02:03,250] # size") == "# size");
  CHECK(plain("[   12.345678] # size") == "# size");
  CHECK(plain("1749283750.123456 # size") == "# size");
  CHECK(plain("I0607 08:09:10.123456  4242 main.py:45] # size") == "# size");
  CHECK(plain("[default0]:# size") == "# size");
  CHECK(plain("2025-06-07T08:09:10.123456789Z stdout F      1024") == "     1024");
  CHECK(plain("\x1b[4mGPU0\tGPU1\x1b[0m\r") == "GPU0\tGPU1");
  CHECK(plain("\x1b]0;a title\x07GPU0\tGPU1") == "GPU0\tGPU1");
  CHECK(plain("10 %\r20 %\r# size\r\r\n") == "# size");
  CHECK(plain("\xc2\xa0\xc2\xa0"
              "1024") == "  1024");
  CHECK(plain("  1024   256 float: no prefix") == "  1024   256 float: no prefix");
  CHECK(plain("error: no table here") == "error: no table here");
  CHECK(plain("I saw '# OSU MPI Latency Test' once") == "I saw '# OSU MPI Latency Test' once");
}

TEST_CASE("nccl-tests of two nodes in a log of mpirun --tag-output with NCCL's lines", "[unit][import]") {
  const Measurement m = imported("nccl-tests", "nccl-tagged.txt");
  REQUIRE(m.collectives.size() == 6);
  for (const MeasuredCollective& c : m.collectives) {
    CHECK(c.op == "all_reduce");  // by the command line above
    CHECK(c.gpus == std::vector<int>{0, 1});
    CHECK(c.nodes == 2);
    CHECK(c.launch == "process");
  }
  CHECK(m.library == "nccl-2.18");
  CHECK_THAT(time_s(m, "all_reduce", 1048576, true), WithinRel(79.95e-6, 1e-12));  // with another line at its end
  CHECK_THAT(time_s(m, "all_reduce", 4194304, true), WithinRel(160.9e-6, 1e-12));
  CHECK(has_note(m, "Left out: 3 lines of other processes than '[1,0]<stdout>:', whose lines hold the tables."));
}

TEST_CASE("nccl-tests: a table alone needs its GPUs, its bus bandwidth shows the operation", "[unit][import]") {
  const std::string sample = "nccl-srun-partial.txt";
  CHECK(error_of("nccl-tests", {sample_path(sample)}).find("add option gpus=8") != std::string::npos);
  CHECK(imported("nccl-tests", sample, {{"gpus", "4"}, {"nodes", "2"}}).collectives.front().op == "all_reduce");
  CHECK(error_of("nccl-tests", {sample_path(sample)}, {{"op", "all_reduce"}}).find("add option gpus=8") !=
        std::string::npos);
  const Measurement m = imported("nccl-tests", sample, {{"op", "all_reduce"}, {"gpus", "4"}, {"nodes", "2"}});
  REQUIRE(m.collectives.size() == 4);
  CHECK(m.collectives[0].gpus == std::vector<int>{0, 1, 2, 3});
  CHECK(m.collectives[0].nodes == 2);
  CHECK(m.collectives[0].launch.empty());
  CHECK_THAT(time_s(m, "all_reduce", 134217728), WithinRel(812e-6, 1e-12));
  CHECK(has_note(m, "The table of nccl-srun-partial.txt:1 has no '# Out of bounds values'"));
  CHECK(error_of("nccl-tests", {sample_path(sample)}, {{"op", "all_reduce"}, {"gpus", "1"}}) ==
        "option gpus: one rank: a collective has at least two");
  CHECK(error_of("nccl-tests", {sample_path(sample)}, {{"op", "all_reduce"}, {"gpus", "1000000000"}}) ==
        "option gpus: at most 1024 on a node");
}

TEST_CASE("rccl-tests with time stamps", "[unit][import]") {
  const Measurement m = imported("nccl-tests", "rccl-tests.txt");
  REQUIRE(m.collectives.size() == 4);
  CHECK(m.source == "rccl-tests, RCCL 2.18; rccl-tests.txt");
  CHECK(m.collectives[0].launch == "single_process");
  CHECK_THAT(time_s(m, "all_gather", 2097152, true), WithinRel(39.9e-6, 1e-12));
  CHECK(m.library == "rccl-2.18");
  CHECK(has_note(m, "library: RCCL 2.18 was printed."));
}

// Newer rccl-tests print "nccl-tests version" and "nccl-library": their GPUs say whose library it is.
TEST_CASE("nccl-tests on AMD's GPUs are of RCCL", "[unit][import]") {
  const Measurement m = imported("nccl-tests", "rccl-as-nccl-tests.txt");
  CHECK(m.library == "rccl-2.21");
  CHECK(m.source.find("rccl-tests") == 0);
}

TEST_CASE("nccl-tests: two tables of two programs, without '#', of CUDA graphs", "[unit][import]") {
  const Measurement m = imported("nccl-tests", "nccl-two-tables.txt");
  REQUIRE(m.collectives.size() == 4);
  CHECK_THAT(time_s(m, "all_reduce", 1048576), WithinRel(108e-6, 1e-12));
  CHECK_THAT(time_s(m, "all_gather", 1048576, true), WithinRel(59e-6, 1e-12));
  CHECK(m.collectives[0].launch == "graph");
}

TEST_CASE("bytes that are no UTF-8 do not end an import", "[unit][import]") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "log.txt").string();
  std::string text = text_of_file(sample_path("nccl-tagged.txt"));
  text.replace(text.find("A warning"), 9, "\xe4\xff\xc3");
  text.replace(text.find("NVIDIA H100"), 6, "NVI\xfc\x80\x41");
  std::ofstream(path, std::ios::binary) << text;
  CHECK(imported_files("nccl-tests", {path}).collectives.size() == 6);
}

TEST_CASE("nccl-tests: a version that is no number says nothing", "[unit][import]") {
  std::ifstream file(sample_path("nccl-tests-all-gather.json"));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string printed = "\"nccl_version\": 22809";
  REQUIRE(text.find(printed) != std::string::npos);
  text.replace(text.find(printed), printed.size(), "\"nccl_version\": \".\"");
  const ScratchFolder scratch;
  const std::string path = (scratch / "log.json").string();
  std::ofstream(path) << text;
  CHECK_FALSE(import_record("nccl-tests", {{path}, "box", "p100-dgx1", {}})["environment"].contains("library_version"));
}

TEST_CASE("osu: collectives of 7.x behind a prompt", "[unit][import]") {
  const Measurement m = imported("osu", "osu-allreduce.txt", {{"gpus", "8"}, {"library", "mpi-openmpi"}});
  REQUIRE(m.collectives.size() == 3);
  CHECK(m.timing == "single");
  CHECK(m.library == "mpi-openmpi");
  CHECK(m.collectives[0].gpus.size() == 8);
  CHECK_THAT(time_s(m, "all_reduce", 1048576), WithinRel(190.55e-6, 1e-12));  // Avg, not Min or Max
  const Measurement gather = imported("osu", "osu-allgather.txt", {{"gpus", "4"}, {"nodes", "2"}});
  CHECK_THAT(time_s(gather, "all_gather", 65536 * 8), WithinRel(40.25e-6, 1e-12));  // one part is printed
  CHECK(gather.collectives[0].nodes == 2);
  CHECK(error_of("osu", {sample_path("osu-allreduce.txt")}).find("option gpus: is needed, osu_allreduce") == 0);
  CHECK(error_after("osu", "osu-allreduce.txt", "MPI-CUDA", "MPI", {{"gpus", "8"}})
            .find("had its buffers in host memory") != std::string::npos);
  CHECK(error_after("osu", "osu-allgather.txt", "65536", "9007199254740992", {{"gpus", "8"}, {"nodes", "2000000000"}})
            .find("more than 2^53 bytes") != std::string::npos);
}

TEST_CASE("osu of 7.x: the data type behind the head, D D, a prompt behind the table", "[unit][import]") {
  const Measurement m =
      imported("osu", "osu-latency-7.txt", {{"src", "gpu0"}, {"dst", "gpu0"}, {"between_nodes", "true"}});
  CHECK(m.points.size() == 2);
}

TEST_CASE("p2pBandwidthLatencyTest pasted from a matrix on", "[unit][import]") {
  const Measurement m = imported("p2pBandwidthLatencyTest", "p2p-pasted.txt");
  CHECK(m.points.size() == 6);
  CHECK(has_note(m, "assumed: peer access between all GPUs"));
  CHECK(has_note(m, "Not in p2p-pasted.txt: P2P=Enabled Latency Matrix."));
  const Measurement none = imported("p2pBandwidthLatencyTest", "p2p-pasted.txt", {{"access", "none"}});
  for (const MeasuredPoint& point : none.points) CHECK(point.transport != "peer");
}

TEST_CASE("nvbandwidth without its version and its first heading, with tables of variation", "[unit][import]") {
  const Measurement m = imported("nvbandwidth", "nvbandwidth-pasted.txt");
  CHECK(m.points.size() == 4);
  CHECK(m.source == "nvbandwidth, version not printed; nvbandwidth-pasted.txt");
  CHECK_THAT(times_of(m.points, {"peer", "gpu0", "gpu1", 536870912, "write"}).at(0),
             WithinRel(536870912 / 276.07e9, 1e-12));
  CHECK_THAT(times_of(m.points, {"peer", "gpu1", "gpu0", 536870912, "read"}).at(0),
             WithinRel(536870912 / 275.5e9, 1e-12));
}

TEST_CASE("a log of other GPUs than the topology has is refused", "[unit][import]") {
  const auto imports = [](const std::string& topology) {
    return run_program("import nccl-tests tests/input/import/nccl-tagged.txt --machine box --topology " + topology);
  };
  CHECK(imports("dgx-a100").err ==
        "error: --topology: dgx-a100 has GPUs 'NVIDIA A100-SXM4-40GB', the file names 'NVIDIA H100 80GB HBM3'\n");
  CHECK(imports("hgx-h100").code == 0);
  CHECK(imports("hgx-h100").err.find("6 points") != std::string::npos);
}

}  // namespace linkcast::test::their_logs_test
