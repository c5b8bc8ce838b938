// nvbandwidth, nccl-tests and the OSU micro-benchmarks.
// Expected times are written out from the printed figures.
#include "tests/unit/import_support.hpp"

namespace linkcast::test::import_programs_test {

namespace {

constexpr double kBuffer_B = 536870912;  // 512 MiB
const std::string kNvText = "nvbandwidth-h100.txt", kNvJson = "nvbandwidth-h100.json";
const std::string kSendrecv = "nccl-tests-sendrecv.txt", kAllReduce = "nccl-all_reduce_perf-p100.txt",
                  kAllGather = "nccl-tests-all-gather.json";
const Options kPair = {{"src", "gpu0"}, {"dst", "gpu1"}};

void check_times(const std::vector<double>& times, const std::vector<double>& expected) {
  REQUIRE(times.size() == expected.size());
  for (std::size_t i = 0; i < times.size(); ++i) CHECK_THAT(times[i], WithinRel(expected[i], 1e-14));
}

const MeasuredCollective& collective(const Measurement& m, double size_B, bool in_place) {
  for (const MeasuredCollective& c : m.collectives)
    if (c.size_B == size_B && c.in_place == in_place) return c;
  FAIL("no collective of " << size_B << " B");
  throw;
}

}  // namespace

TEST_CASE("nvbandwidth text: copies between GPUs and with the host", "[unit][import]") {
  const Measurement m = imported("nvbandwidth", kNvText);
  CHECK(m.source == "nvbandwidth 0.10.0; nvbandwidth-h100.txt");
  CHECK(m.timing == "back_to_back");
  CHECK(m.points.size() == 4 + 4 + 12 + 12 + 12);
  check_times(times_of(m.points, {"host", "host", "gpu1", kBuffer_B}), {kBuffer_B / 55.36e9});
  check_times(times_of(m.points, {"host", "gpu2", "host", kBuffer_B}), {kBuffer_B / 55.18e9});
  // GPU(row) <- GPU(column): row 0, column 1
  check_times(times_of(m.points, {"peer", "gpu1", "gpu0", kBuffer_B, "read"}), {kBuffer_B / 395.07e9});
  check_times(times_of(m.points, {"peer", "gpu0", "gpu1", kBuffer_B, "read"}), {kBuffer_B / 395.11e9});
  // GPU(row) -> GPU(column): row 2, column 3
  check_times(times_of(m.points, {"peer", "gpu2", "gpu3", kBuffer_B, "write"}), {kBuffer_B / 397.44e9});
  check_times(times_of(m.points, {"peer", "gpu0", "gpu1", kBuffer_B, "read", true}), {2 * kBuffer_B / 758.42e9});
  CHECK(has_note(m, "assumed: copies are 536870912 bytes, the default buffer"));
}

TEST_CASE("nvbandwidth text: loads, tests not run and tests that cannot be said", "[unit][import]") {
  const Measurement m = imported("nvbandwidth", kNvText);
  CHECK(m.loads.size() == 4 + 12);
  check_times(times_of(m.loads, {"host", "host", "gpu1", 8, "read", false, "sm"}), {667.8e-9});
  check_times(times_of(m.loads, {"peer", "gpu0", "gpu3", 8, "read", false, "sm"}), {826.47e-9});
  CHECK(m.loads.front().working_set_B == 2097152);
  CHECK(m.waived == 1);
  for (const char* name : {"host_to_device_bidirectional_memcpy_ce", "all_to_host_memcpy_ce", "all_to_one_write_ce"})
    CHECK(has_note(m, "Left out, schema measurement/1 cannot say it truthfully: test " + std::string(name)));
  CHECK_FALSE(has_note(m, kNvText + " does not end"));
}

TEST_CASE("nvbandwidth: the printed arrow decides, sizes and pairs may be said", "[unit][import]") {
  const std::string text = text_of_file(sample_path(kNvText));
  const ScratchFolder scratch;
  const std::string path = (scratch / "log.txt").string();
  std::string turned = text.substr(0, text.find("NOTE:"));
  turned.replace(turned.find("GPU(row) <- GPU(column)", turned.find("memcpy_read_ce")), 23, "GPU(row) -> GPU(column)");
  turned.replace(turned.find("395.07"), 6, "   N/A");
  turned.replace(turned.find("4741.82"), 7, "4346.75");
  std::ofstream(path) << turned;
  const Measurement m = imported_files("nvbandwidth", {path}, {{"buffer", "64MiB"}});
  check_times(times_of(m.points, {"peer", "gpu1", "gpu0", 67108864, "read"}), {67108864 / 395.11e9});
  CHECK(m.waived == 2);  // row 0, column 1 too
  CHECK(has_note(m, "log.txt does not end with the program's closing NOTE"));
  CHECK_FALSE(has_note(m, "assumed: copies"));
}

TEST_CASE("nvbandwidth JSON says the same as the text, with more digits", "[unit][import]") {
  const Measurement m = imported("nvbandwidth", kNvJson);
  CHECK(m.source == "nvbandwidth 0.8; nvbandwidth-h100.json");
  CHECK(m.points.size() == 4 + 4 + 12 + 12 + 12);
  CHECK(m.waived == 1);
  check_times(times_of(m.points, {"peer", "gpu1", "gpu0", kBuffer_B, "read"}), {kBuffer_B / 395.07e9});
  check_times(times_of(m.points, {"peer", "gpu0", "gpu1", kBuffer_B, "read", true}), {2 * kBuffer_B / 758.42e9});
}

TEST_CASE("nvbandwidth: what is refused", "[unit][import]") {
  const auto error = [](const std::string& from, const std::string& to) {
    return error_after("nvbandwidth", kNvText, from, to);
  };
  CHECK(error("nvbandwidth Version: v0.10.0", "") == "FILE: is empty");
  CHECK(error_of("nvbandwidth", {sample_path("osu-bw-nv4.txt")})
            .find("is no output of nvbandwidth: it has neither 'nvbandwidth Version: ...' nor a test") !=
        std::string::npos);
  CHECK(error("v0.10.0", "v0.3") ==
        "option buffer: is needed, version '0.3' of nvbandwidth has another default than 512MiB: say the size of -b, "
        "e.g. 64MiB");
  CHECK(error("Running host_to_device_memcpy_ce", "") == "FILE:13: the file ends here, 'Running TEST.' is missing");
  CHECK(error("SUM host_to_device_memcpy_ce", std::string(1000000, ')')) ==
        "FILE:19: a line of 1000007 characters, at most 10000: no text of such a program");
  CHECK(error("SUM host_to_device_memcpy_ce 221.46", "Error: out of memory") ==
        "FILE:19: test host_to_device_memcpy_ce failed: Error: out of memory");
  CHECK(error("Waived: \n", "\n") == "FILE:114: test multinode_device_to_device_memcpy_read_ce has no result");
  CHECK(error(" 1    395.11       N/A    395.15    395.17", " 1    395.11       N/A    395.15") ==
        "FILE:39: memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s): row 1 has 3 values for 4 columns");
  CHECK(error(" 3    395.23    395.25    395.05       N/A", "") ==
        "FILE:40: the matrix of test device_to_device_memcpy_read_ce ends after 3 rows, 4 are due");
  CHECK(error("395.07", "395,07") == "FILE:38: '395,07' in column 1 is not a number above 0");
  CHECK(error("395.07", "  0.00") == "FILE:38: '0.00' in column 1 is not a number above 0");
  CHECK(error(" 0       N/A    395.07", " 0    395.00       N/A") == "FILE:38: '395.00' for GPU 0 and itself");
  CHECK(error("CPU(row) -> GPU(column)", "CPU(row) <- GPU(column)") ==
        "FILE:15: 'memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)' does not fit this test: CPU(row) -> GPU(column) "
        "and (GB/s) are due");
  CHECK(error("NOTE:", "Running x.\n\nNOTE:") == "FILE:117: test x has no result");
  CHECK(error("NOTE:", "NOTE: a\nnvbandwidth Version: v0.8\n").find("the file ends here, 'Running TEST.' is missing") !=
        std::string::npos);
}

TEST_CASE("nvbandwidth JSON: what is refused", "[unit][import]") {
  const auto error = [](const std::string& from, const std::string& to) {
    return error_after("nvbandwidth", kNvJson, from, to);
  };
  const std::string first = "FILE:/nvbandwidth/testcases/0";
  CHECK(error("\"nvbandwidth\"", "\"bandwidth\"") == "FILE:/nvbandwidth: missing key: no JSON of nvbandwidth");
  CHECK(error("\"testcases\"", "\"error\": \"no GPU\", \"testcases\"") ==
        "FILE:/nvbandwidth/error: the run failed: \"no GPU\"");
  CHECK(error("\"Passed\"", "\"Error\"") == first + "/status: test host_to_device_memcpy_ce did not pass: Error");
  CHECK(error("\"bandwidth_matrix\"", "\"matrix\"") ==
        first + ": a test that passed needs bandwidth_description and bandwidth_matrix");
  CHECK(error("\"55.370000\"", "true") ==
        first + "/bandwidth_matrix: each cell must be a number, as such or as text, or N/A");
  CHECK(error("\"55.370000\"", "\"fast\"") ==
        first + "/bandwidth_matrix/0: 'fast' in column 0 is not a number above 0");
  const std::string longer(1000000, '>');  // long enough to exhaust the stack of a recursive matcher
  CHECK(error("memcpy CE CPU(row) ->", longer).find("does not say which way rows and columns go") != std::string::npos);
  CHECK(error("\"sum\"", "").rfind("FILE: not JSON: ", 0) == 0);
}

TEST_CASE("nccl-tests text names its operation", "[unit][import]") {
  const Measurement m = imported("nccl-tests", kSendrecv);
  CHECK(m.source == "nccl-tests, version 2.13.9 nccl-headers=22203 nccl-library=22203; nccl-tests-sendrecv.txt");
  CHECK(m.timing == "back_to_back");
  REQUIRE(m.collectives.size() == 6);
  CHECK(m.collectives[0].op == "sendrecv");
  CHECK(m.collectives[0].gpus == std::vector<int>{0, 1});
  check_times(collective(m, 8, false).time_s, {9.85e-6});
  check_times(collective(m, 8, true).time_s, {9.79e-6});
  check_times(collective(m, 67108864, false).time_s, {919.3e-6});
}

TEST_CASE("nccl-tests of older versions: the file's name or an option says the operation", "[unit][import]") {
  const Measurement m = imported("nccl-tests", kAllReduce, {{"gpus", "4,5,7,6"}, {"algorithm", "ring"}});
  REQUIRE(m.collectives.size() == 2);  // the row of size 0 sent nothing
  CHECK(m.collectives[0].op == "all_reduce");
  CHECK(m.collectives[0].gpus == std::vector<int>{4, 5, 7, 6});
  CHECK(m.collectives[0].algorithm == ForcedAlgorithm::kRing);
  check_times(collective(m, 1e9, false).time_s, {28796e-6});
  check_times(collective(m, 1e9, true).time_s, {28799e-6});
  CHECK(has_note(m, "The operation of " + kAllReduce + " is that of the file's name"));
  CHECK(has_note(m, "Left out: rows of size 0"));

  const ScratchFolder scratch;
  const std::string path = (scratch / "log.txt").string();
  std::ofstream(path) << text_of_file(sample_path(kAllReduce));
  CHECK(imported_files("nccl-tests", {path}).collectives[0].op == "all_reduce");  // by busbw over algbw
  CHECK(imported_files("nccl-tests", {path}, {{"op", "all_reduce"}}).collectives[0].op == "all_reduce");
  CHECK_THROWS_AS(imported_files("nccl-tests", {path}, {{"op", "reduce"}}), InputError);  // whose busbw is its algbw
}

TEST_CASE("nccl-tests: whether NVLS was on is known from NCCL's lines, the type, or an option", "[unit][import]") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "all_reduce_perf.txt").string(), plain = text_of_file(sample_path(kAllReduce));
  const auto nvls = [&](const std::string& line, const std::string& redop, const Options& options = {}) {
    std::string text = plain;
    if (!redop.empty())
      for (std::size_t at = text.find(" sum "); at != std::string::npos; at = text.find(" sum ", at))
        text.replace(at, 5, " " + redop + " ");
    if (!line.empty()) text.insert(text.find("#       size"), line + "\n");
    std::ofstream(path) << text;
    return imported_files("nccl-tests", {path}, options).nvls;
  };
  CHECK_FALSE(nvls("", "").has_value());
  CHECK(nvls("node1:7:7 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.", "") == false);
  CHECK(nvls("node1:7:7 [0] NCCL INFO 24 coll channels, 16 nvls channels, 32 p2p channels", "") == true);
  CHECK(nvls("node1:7:7 [0] NCCL INFO 24 coll channels, 0 nvls channels, 32 p2p channels", "") == false);
  CHECK(nvls("", "prod") == false);
  CHECK(nvls("", "", {{"nvls", "off"}}) == false);
  CHECK(error_of("nccl-tests", {path}, {{"nvls", "maybe"}}).find("nvls") != std::string::npos);
  const std::string off = "node1:7:7 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.";
  std::string text = plain;
  std::ofstream(path) << text.insert(text.find("#       size"), off + "\n");
  CHECK(error_of("nccl-tests", {path}, {{"nvls", "on"}}).find("says otherwise") != std::string::npos);
}

TEST_CASE("nccl-tests: settings that NCCL's lines say were made are kept", "[unit][import]") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "all_reduce_perf.txt").string();
  std::string text = text_of_file(sample_path(kAllReduce));
  text.insert(text.find("#       size"),
              "node1:7:7 [0] NCCL INFO NCCL_DEBUG set by environment to INFO.\n"
              "node1:7:7 [0] NCCL INFO NCCL_BUFFSIZE set by environment to 8388608.\n"
              "node1:7:7 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n"
              "node1:7:7 [0] NCCL INFO NCCL_PROTO set by environment to ^LL\n");
  std::ofstream(path) << text;
  const Measurement read = imported_files("nccl-tests", {path});
  CHECK_FALSE(read.peer_access);
  CHECK(imported("nccl-tests", kAllReduce).peer_access);
}

TEST_CASE("nccl-tests: warnings of NCCL between the rows are passed over", "[unit][import]") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "all_reduce_perf.txt").string();
  std::string text = text_of_file(sample_path(kAllReduce));
  const std::size_t row = text.find("\n", text.find("(us)")) + 1;
  text.insert(text.find("\n", row) + 1, "\nnode1:7:9 [0] ibvwrap.cc:66 NCCL WARN Call to ibv_open_device failed\n");
  std::ofstream(path) << text;
  CHECK(imported_files("nccl-tests", {path}).collectives.size() ==
        imported("nccl-tests", kAllReduce).collectives.size());
}

TEST_CASE("nccl-tests JSON", "[unit][import]") {
  const Measurement m = imported("nccl-tests", kAllGather);
  REQUIRE(m.collectives.size() == 4);
  CHECK(m.collectives[0].op == "all_gather");
  CHECK(m.collectives[0].gpus == std::vector<int>{0, 1, 2, 3});
  check_times(collective(m, 1048576, true).time_s, {24.4512e-6});
  check_times(collective(m, 8388608, false).time_s, {47.93e-6});
}

TEST_CASE("nccl-tests over two nodes: members of each, their number, and the version of NCCL", "[unit][import]") {
  const Measurement m = imported("nccl-tests", "nccl-two-nodes.txt", {{"op", "all_reduce"}});
  REQUIRE_FALSE(m.collectives.empty());
  CHECK(m.library == "nccl-2.8");
  for (const MeasuredCollective& c : m.collectives) {
    CHECK(c.nodes == 2);
    CHECK(c.gpus == std::vector<int>{0, 1, 2, 3});
    CHECK(c.launch == "process");
  }
  check_times(collective(m, 1048576, false).time_s, {198.7e-6});
}

TEST_CASE("nccl-tests: what is refused", "[unit][import]") {
  const auto error = [](const std::string& from, const std::string& to, const Options& options = {}) {
    return error_after("nccl-tests", kSendrecv, from, to, options);
  };
  CHECK(error("#       size ", "#       bytes ") ==
        "FILE: is no output of nccl-tests: it has no table with the head '# size count type ... time algbw busbw'");
  CHECK(error("sendrecv_perf", "hypercube_perf") ==
        "FILE:3: program 'hypercube_perf' measures no operation of schema measurement/1");
  CHECK(error("sendrecv_perf", "sendrecv_perf ", {{"op", "reduce"}}) ==
        "option op: is 'reduce', FILE:3 is of sendrecv_perf");
  CHECK(error("Rank  1 Group  0 Pid 2152611 on   lrdn2296", "Rank  1 Group  0 Pid 2152611 on   lrdn2297") ==
        "FILE:3: the ranks of lrdn2296 and lrdn2297 print different devices: schema measurement/1 has equal nodes");
  CHECK(error("Rank  1 Group  0", "Rank  1 Group  1") ==
        "FILE:3: ranks of several groups ran at once: schema measurement/1 has one collective");
  CHECK(error("device  1", "device  0") == "FILE:3: two ranks print device 0: add option gpus=0,1,... in rank order");
  CHECK(error("device  1", "device  1 ", {{"gpus", "0,1,2"}}) == "option gpus: names 3 GPUs, FILE:3 has 2 ranks");
  CHECK(error("Rank  1", "Rank  2") == "FILE:7: rank 2 stands where rank 1 is due");
  CHECK(error("[0x56]", "(0x56)") == "FILE:7: is no line '# Rank 0 Pid 1 on HOST device 0 [0x07] NAME'");
  CHECK(error("  9.85    0.00    0.00      0", "  9.85    0.00    0.00      3") ==
        "FILE:12: 3 wrong elements: not a measurement");
  CHECK(error("  9.85    0.00    0.00      0", "  9.85    0.00    0.00      x") ==
        "FILE:12: 'x' is no number of wrong elements");
  CHECK(error("  9.85    0.00    0.00      0", "  0.00    0.00    0.00      0") ==
        "FILE:12: time '0.00' is not a number above 0");
  CHECK(error("           8             2     float", "           8             2") ==
        "FILE:12: has 12 values for 13 columns");
  CHECK(error("values : 0 OK", "values : 9 FAILED") == "FILE:15: the program found wrong data: not a measurement");
  CHECK(error("busbw #wrong ", "busbw #right ") ==
        "FILE:10: column '#right' is not known: size, count, type, redop, root, time, algbw, busbw, #wrong, error");
  CHECK(error("(us)  (GB/s)  (GB/s)            (us)", "(ms)  (GB/s)  (GB/s)            (ms)") ==
        "FILE:11: the line of units is due, with (B) and (us)");
  CHECK(error("          16             4     float", "          16             4      half") ==
        "FILE:13: prints type \"half\", what came before it \"float\": import them one by one, a record holds one");
}

TEST_CASE("nccl-tests JSON: what is refused", "[unit][import]") {
  const auto error = [](const std::string& from, const std::string& to) {
    return error_after("nccl-tests", kAllGather, from, to);
  };
  CHECK(error("\"results\"", "\"rows\"") == "FILE:/: is no JSON of nccl-tests: it needs devices and results");
  CHECK(error("\"okay\": true", "\"okay\": false") ==
        "FILE:/out_of_bounds/okay: the program found wrong data: not a measurement");
  CHECK(error("\"nwrong\": 0", "\"nwrong\": 1") == "FILE:/results/0: 1 wrong elements: not a measurement");
  CHECK(error("\"hostname\": \"node01\"", "\"hostname\": \"node02\"") ==
        "FILE: node02 has 1 ranks, node01 3: schema measurement/1 has equal nodes");
  CHECK(error("\"time\"", "\"cpu_time\"") == "FILE:/results/0/out_of_place/time: missing key");
}

TEST_CASE("osu latencies between two nodes", "[unit][import]") {
  Options options = {{"src", "gpu0"}, {"dst", "gpu0"}, {"between_nodes", "true"}, {"pairs", "1"}};
  const Measurement m = imported("osu", "osu-multi-lat-a100.txt", options);
  CHECK(m.source == "OSU micro-benchmarks 5.7; osu-multi-lat-a100.txt");
  CHECK(m.timing == "single");
  REQUIRE(m.points.size() == 7);  // the message of 0 bytes is left out
  CHECK(m.points[0].between_nodes);
  check_times(times_of(m.points, {"mpi", "gpu0", "gpu0", 1}), {3.29e-6});
  check_times(times_of(m.points, {"mpi", "gpu0", "gpu0", 4194304}), {280.76e-6});
  CHECK(has_note(m, "Left out: messages of 0 bytes"));
  options.erase("pairs");
  CHECK(error_of("osu", {sample_path("osu-multi-lat-a100.txt")}, options) ==
        "option pairs: is needed, osu_multi_lat does not print how many pairs ran: pairs=1");
}

TEST_CASE("osu bandwidths are times in a queue, both ways together", "[unit][import]") {
  const Measurement m = imported_files("osu", {sample_path("osu-bw-nv4.txt"), sample_path("osu-bibw-nv4.txt")}, kPair);
  CHECK(m.timing == "back_to_back");
  check_times(times_of(m.points, {"mpi", "gpu0", "gpu1", 33554432}), {33554432 / 93130.52e6});
  check_times(times_of(m.points, {"mpi", "gpu0", "gpu1", 4194304, "", true}), {2 * 4194304 / 171022.5e6});
  CHECK(has_note(m, "assumed: osu_bw had its default window of 64 messages"));
  const Measurement many =
      imported("osu", "osu-mbw-mr-a100.txt", {{"src", "gpu0"}, {"dst", "gpu1"}, {"between_nodes", "true"}});
  check_times(times_of(many.points, {"mpi", "gpu0", "gpu1", 4194304}), {4194304 / 15334.04e6});
  CHECK(has_note(many, "osu_mbw_mr: window of 64 messages."));
}

TEST_CASE("osu: what is refused", "[unit][import]") {
  const auto error = [](const std::string& sample, const std::string& from, const std::string& to,
                        const Options& options = kPair) { return error_after("osu", sample, from, to, options); };
  const std::string bw = "osu-bw-nv4.txt", bibw = "osu-bibw-nv4.txt", latency = "osu-latency-host.txt";
  CHECK(error(bw, "# OSU MPI-CUDA", "# IMB") ==
        "FILE: is no output of OSU micro-benchmarks: no line '# OSU MPI ... Test v...'");
  CHECK(error(bw, "Bandwidth Test", "Barrier Latency Test")
            .rfind("FILE:2: 'Barrier Latency Test' is not read: one of Latency Test, ", 0) == 0);
  CHECK(error(bw, "# Size", "") == "FILE:4: the file ends here, the head of the table, '# Size ...' is missing");
  CHECK(error(bw, "Bandwidth (MB/s)", "Bandwidth (GB/s)") ==
        "FILE:5: the head of the table is due: # Size Bandwidth (MB/s)");
  CHECK(error(bw, "1.01", "1.01 2") == "FILE:6: has 3 values for 2 columns");
  CHECK(error(bw, "1.01", "0.00") == "FILE:6: '0.00' is not a number above 0");
  CHECK(error(bw, "3130.52", "") == "FILE:9: the file ends inside this line");
  CHECK(error(bw, "8192", "8K") == "FILE:7: size '8K' is not a whole number");
  CHECK(error(bw, "1                       1.01", "") == "FILE:5: the table has no row");
  CHECK(error(bw, "on DEVICE (D) and", "on MANAGED (M) and") ==
        "FILE:3: buffers must be both on DEVICE or both on HOST: schema measurement/1 has nothing for others");
  CHECK(error(bibw, "171022.50              Pass", "171022.50              Fail") ==
        "FILE:7: the received data were wrong: not a measurement");
  CHECK(error("osu-mbw-mr-a100.txt", "pairs: 1", "pairs: 4") ==
        "FILE: several pairs at once: schema measurement/1 has one pair a point");
  CHECK(error(bw, "v7.1", "v7.1", {{"src", "gpu0"}}) ==
        "option src and option dst: are needed, the program does not print where it ran: src=gpu0 dst=gpu1");
  CHECK(error(bw, "v7.1", "v7.1", {{"src", "gpu0"}, {"dst", "gpu0"}}) ==
        "option dst: is 'gpu0' as src: add option between_nodes=true if they are on two nodes");
  CHECK(error(bw, "v7.1", "v7.1", {{"src", "gpu0"}, {"dst", "b"}}) == "option dst: 'b' is no device: gpu<n> or cpu<n>");
  CHECK(error(latency, "v7.4", "v7.4") ==
        "option src: 'gpu0' does not fit FILE, whose buffers are in host memory: cpu<n>");
  CHECK(error_of("osu", {sample_path(bw), sample_path(latency)}, kPair) ==
        sample_path(latency) +
            ": osu_latency with tables of other timing: latencies time one message, bandwidths a queue, collectives "
            "one call: import them one by one");
}

}  // namespace linkcast::test::import_programs_test
