// p2pBandwidthLatencyTest, the tables in CSV, and what all imports share.
// Expected times are written out from the printed figures: bytes x payloads / rate.
#include <set>

#include "tests/unit/import_support.hpp"

namespace linkcast::test::import_test {

namespace {

const std::string kP2p = "p2pBandwidthLatencyTest";
const std::string kOld = "p2p-p100-cuda8.txt", kWrites = "p2p-a100-writes.txt", kReads = "p2p-dgx2-reads.txt";

void check_times(const std::vector<double>& times, const std::vector<double>& expected) {
  REQUIRE(times.size() == expected.size());
  for (std::size_t i = 0; i < times.size(); ++i) CHECK_THAT(times[i], WithinRel(expected[i], 1e-14));
}

/// With one space between words, as help may be broken anywhere.
std::string words_of(const std::string& text) {
  std::istringstream in(text);
  std::string all;
  for (std::string word; in >> word;) all += (all.empty() ? "" : " ") + word;
  return all;
}

}  // namespace

TEST_CASE("old titles of p2pBandwidthLatencyTest: the row pulls 40 MB", "[unit][import]") {
  const Measurement m = imported(kP2p, kOld);
  CHECK(m.id == "box-p2p-bandwidth-latency-test");
  CHECK(m.machine == "box");
  CHECK(m.topology == "p100-dgx1");
  CHECK(m.bench == "p2p_copy");
  CHECK(m.timing == "back_to_back");
  CHECK(m.source == "p2pBandwidthLatencyTest of the CUDA samples, version not printed; p2p-p100-cuda8.txt");
  CHECK(m.points.size() == 3 * (8 + 56 + 32));  // one way, both ways, latency: own copies, staged pairs, peer pairs
  check_times(times_of(m.points, {"staged", "gpu2", "gpu0", 40e6}), {40e6 / 10.76e9});  // row 0, column 2
  check_times(times_of(m.points, {"staged", "gpu0", "gpu2", 40e6}), {40e6 / 9.77e9});
  check_times(times_of(m.points, {"peer", "gpu0", "gpu3", 40e6, "read"}), {40e6 / 18.39e9});
  check_times(times_of(m.points, {"peer", "gpu2", "gpu0", 1, "read"}), {9.52e-6});
  CHECK(has_note(m, "assumed: bandwidth copies are 40000000 bytes, as in the CUDA samples whose titles"));
  CHECK(has_note(m, "assumed: latency copies are 1 bytes"));
  CHECK(has_note(m, "assumed: the printed row is the target"));
}

TEST_CASE("p2pBandwidthLatencyTest: what both matrices measure alike are repetitions", "[unit][import]") {
  const Measurement m = imported(kP2p, kOld);
  // read and write are counted; peer access off, then on
  check_times(times_of(m.points, {"local", "gpu0", "gpu0", 40e6}), {2 * 40e6 / 500.9e9, 2 * 40e6 / 502.65e9});
  check_times(times_of(m.points, {"local", "gpu0", "gpu0", 1}), {2.98e-6, 3.03e-6});
  // 0 in the connectivity matrix: staged, even with peer access on
  check_times(times_of(m.points, {"staged", "gpu5", "gpu0", 40e6}), {40e6 / 10.62e9, 40e6 / 10.62e9});
}

TEST_CASE("p2pBandwidthLatencyTest: bidirectional figures are the sum of both directions", "[unit][import]") {
  const Measurement m = imported(kP2p, kOld);
  check_times(times_of(m.points, {"peer", "gpu1", "gpu0", 40e6, "", true}), {2 * 40e6 / 36.72e9});
  check_times(times_of(m.points, {"staged", "gpu1", "gpu0", 40e6, "", true}), {2 * 40e6 / 9.84e9});
  check_times(times_of(m.points, {"local", "gpu0", "gpu0", 40e6, "", true}), {4 * 40e6 / 500.9e9, 4 * 40e6 / 502.65e9});
}

TEST_CASE("titles with writes: the row pushes 160 MB", "[unit][import]") {
  const Measurement m = imported(kP2p, kWrites);
  CHECK(m.points.size() == 3 * (4 + 12 + 12));
  check_times(times_of(m.points, {"peer", "gpu0", "gpu1", 160e6, "write"}), {160e6 / 264.43e9});
  check_times(times_of(m.points, {"peer", "gpu1", "gpu0", 160e6, "write"}), {160e6 / 265.14e9});
  check_times(times_of(m.points, {"staged", "gpu2", "gpu3", 160e6}), {160e6 / 17.45e9});
  check_times(times_of(m.points, {"peer", "gpu2", "gpu1", 16, "write"}), {3.34e-6});
  CHECK(has_note(m, "assumed: bandwidth copies are 160000000 bytes"));
  CHECK(has_note(m, "assumed: latency copies are 16 bytes"));
  CHECK(has_note(m, "Left out: the CPU matrices"));
  CHECK_FALSE(has_note(m, "assumed: the printed row is the target"));
}

TEST_CASE("p2pBandwidthLatencyTest: the GPU of a row may access that of a column, or not, each direction by itself",
          "[unit][import]") {
  std::string text = text_of_file(sample_path(kWrites));
  const std::string row = "     0\t     1     1     1     1";
  text.replace(text.find(row), row.size(), "     0\t     1     0     1     1");
  const ScratchFolder scratch;
  std::ofstream(scratch / kWrites) << text;
  const Measurement m = imported_files(kP2p, {(scratch / kWrites).string()});
  check_times(times_of(m.points, {"staged", "gpu0", "gpu1", 160e6}), {160e6 / 17.74e9, 160e6 / 264.43e9});
  check_times(times_of(m.points, {"staged", "gpu1", "gpu0", 160e6}), {160e6 / 17.74e9});
  check_times(times_of(m.points, {"peer", "gpu1", "gpu0", 160e6, "write"}), {160e6 / 265.14e9});
}

TEST_CASE("reads: the row pulls, and options say what is not printed", "[unit][import]") {
  const Measurement m =
      imported(kP2p, kReads,
               {{"elements", "1073741824"}, {"latency_bytes", "32"}, {"engine", "sm"}, {"gpus", "3,1"}, {"id", "x"}});
  CHECK(m.id == "x");
  const double size_B = 4294967296;
  // rows and columns 0 and 1 are gpu3 and gpu1
  check_times(times_of(m.points, {"peer", "gpu3", "gpu1", 32, "write", false, "sm"}), {2.29e-6});
  check_times(times_of(m.points, {"peer", "gpu1", "gpu3", 32, "read", false, "sm"}), {9.47e-6});
  check_times(times_of(m.points, {"peer", "gpu3", "gpu1", size_B, "write", false, "sm"}), {size_B / 145.57e9});
  check_times(times_of(m.points, {"staged", "gpu3", "gpu1", size_B}), {size_B / 8.68e9});  // never by a kernel
  check_times(times_of(m.points, {"local", "gpu3", "gpu3", size_B}),
              {2 * size_B / 851.98e9, 2 * size_B / 850.94e9, 2 * size_B / 848.64e9});
  CHECK_FALSE(has_note(m, "assumed"));
}

TEST_CASE("several files of one machine are repetitions", "[unit][import]") {
  const Measurement m = imported_files(kP2p, {sample_path(kWrites), sample_path(kWrites)});
  check_times(times_of(m.points, {"peer", "gpu0", "gpu1", 160e6, "write"}), {160e6 / 264.43e9, 160e6 / 264.43e9});
  const std::string error = error_of(kP2p, {sample_path(kWrites), sample_path(kReads)});
  CHECK(error.find("import them one by one, a record holds one") != std::string::npos);
}

TEST_CASE("p2pBandwidthLatencyTest: what is refused", "[unit][import]") {
  const auto error = [](const std::string& from, const std::string& to) {
    return error_after(kP2p, kWrites, from, to);
  };
  CHECK(error("\nP2P Connectivity Matrix", "") ==
        "FILE: is no output of p2pBandwidthLatencyTest: it has no title 'Unidirectional P2P=Disabled Bandwidth Matrix "
        "(GB/s)' or the like");
  CHECK(error("Device: 1,", "Device: 2,") == "FILE:3: device 2 stands where device 1 is due");
  CHECK(error("NVIDIA A100-SXM4-40GB, pciBusID: 27", "GPU") == "FILE:2: is no line 'Device: 0, NAME, pciBusID: ...'");
  CHECK(error("     3\t     1     1     1     1\n", "\n") ==
        "FILE:26: P2P Connectivity Matrix: ends after 3 of 4 rows");
  CHECK(error("     1     1     1     1\n", "     1     2     1     1\n") == "FILE:24: '2' is not 0 or 1");
  CHECK(error("D\\D     0      1      2      3 ", "D\\D     0      1      2 ") ==
        "FILE:30: Unidirectional P2P=Disabled Bandwidth Matrix (GB/s): row 0 has 4 values for 3 columns");
  CHECK(error("19.41  19.40 1279.69", "19.41 1279.69") ==
        "FILE:32: Unidirectional P2P=Disabled Bandwidth Matrix (GB/s): row 2 has 3 values for 4 columns");
  CHECK(error("     2  19.41", "     4  19.41") ==
        "FILE:32: Unidirectional P2P=Disabled Bandwidth Matrix (GB/s): row 4 stands where row 2 is due");
  for (const char* wrong : {"0.00", "-17.74", "nan", "inf", "1.7x"})
    CHECK(error("17.74", wrong) == "FILE:30: '" + std::string(wrong) + "' in column 1 is not a number above 0");
  CHECK(error("Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)", "Segmentation fault") ==
        "FILE:41: a matrix without a title that says what it is");
  CHECK(
      error("   CPU     0      1      2      3 \n     0   2.57", "") ==
      "FILE:70: the file ends here, the line of column numbers of P2P=Enabled Latency (P2P Writes) Matrix (us), CPU is "
      "missing");
  CHECK(error("D\\D     0     1     2     3", "D\\D     0     1     3     2") ==
        "FILE:23: P2P Connectivity Matrix: '3' stands where column number 2 is due");
}

TEST_CASE("imports: machine, topology and options are checked", "[unit][import]") {
  const auto refused = [](const ImportRequest& request, const std::string& what) {
    CHECK_THROWS_WITH(import_record(kP2p, request), what);
  };
  const std::vector<std::string> files = {sample_path(kWrites)};
  refused({files, "", "t", {}}, "machine: is needed: the id of the machine that was measured");
  refused({files, "m", "", {}}, "topology: is needed: the topology whose GPUs were measured");
  refused({files, "m", "t", {{"buffer", "1MiB"}}},
          "option buffer: format 'p2pBandwidthLatencyTest' has no such option: one of elements, latency_bytes, "
          "access, engine, "
          "gpus, id");
  refused({files, "m", "t", {{"elements", "40M"}}}, "option elements: '40M' is not a whole number from 1 to 2^31 - 1");
  refused({files, "m", "t", {{"elements", "0"}}}, "option elements: '0' is not a whole number from 1 to 2^31 - 1");
  refused({files, "m", "t", {{"engine", "cuda"}}}, "option engine: 'cuda' is not allowed: one of copy_engine, sm");
  refused({files, "m", "t", {{"gpus", "0,1,1,2"}}},
          "option gpus: '0,1,1,2' is not a list of GPU numbers, each once: write 0,1,3,2");
  refused({files, "m", "t", {{"gpus", "0,1,2"}}}, "option gpus: names 3 GPUs, the files print device 3");
  refused({files, "m", "t", {{"id", ""}}}, "option id: has no value");
  CHECK_THROWS_WITH(
      import_record("mgbench", {files, "m", "t", {}}),
      "unknown format 'mgbench' (did you mean 'mgbench-csv'?): one of aiconfigurator, csv, dcgm, discovery, hwloc-xml, "
      "ib-fabric, infragraph, mgbench-csv, nccl-inspector, nccl-tests, "
      "nccl-xml, nvbandwidth, osu, p2pBandwidthLatencyTest, perftest, rocm-bandwidth-test, rocm-topo, topo-m, "
      "topology-conf, "
      "ucx_perftest");
}

TEST_CASE("csv: one line a copy", "[unit][import]") {
  const Measurement m = imported("csv", "copies.csv", {{"timing", "single"}, {"program", "mine 1.0"}});
  CHECK(m.source == "mine 1.0; copies.csv");
  CHECK(m.timing == "single");
  REQUIRE(m.points.size() == 4);
  check_times(times_of(m.points, {"peer", "gpu0", "gpu1", 67108864, "read"}), {0.003639, 0.003641});
  check_times(times_of(m.points, {"staged", "gpu2", "gpu3", 40e6}), {0.004304});
  check_times(times_of(m.points, {"local", "gpu0", "gpu0", 4, "", false, "sm"}), {1.59e-6});
  check_times(times_of(m.points, {"host", "host", "gpu1", 1048576}), {9.5e-5});
}

TEST_CASE("csv: what is refused", "[unit][import]") {
  const auto error = [](const std::string& from, const std::string& to) {
    return error_after("csv", "copies.csv", from, to, {{"timing", "single"}});
  };
  CHECK(error_of("csv", {sample_path("copies.csv")}) ==
        "option timing: is needed, the table does not say what a time is: one of single, back_to_back");
  CHECK(error(",engine", ",speed") ==
        "FILE:1: column 'speed' is not known: source, target, size_B, time_s are needed, transport, via, direction, "
        "bidirectional, engine allowed");
  CHECK(error("time_s", "engine") == "FILE:1: column 'engine' twice");
  CHECK(error(",time_s", "") == "FILE:1: column 'time_s' is missing");
  CHECK(error("\r\ngpu0", "") == "FILE:1: no line below the names of the columns");
  CHECK(error(",read,ce", ",read") == "FILE:2: has 6 cells, the first row 7");
  CHECK(error("peer", "") == "FILE:2: has 5 cells, the first row 7");
  CHECK(error("peer", "nvlink") ==
        "FILE:2: transport 'nvlink' is not allowed: one of local, peer, relay, staged, host");
  CHECK(error(",peer,", ",,") ==
        "FILE:2: no transport: add a column transport, or option transport=peer or staged for all pairs");
  CHECK(error("peer", "local") == "FILE:2: transport 'local' does not fit gpu0 to gpu1");
  CHECK(error("peer", "relay") == "FILE:2: a relay needs its column via, no other transport has one");
  CHECK(error("67108864", "64MiB") == "FILE:2: size_B '64MiB' is not a whole number of bytes of at least 1");
  CHECK(error("67108864", "0") == "FILE:2: size_B '0' is not a whole number of bytes of at least 1");
  CHECK(error("0.003639", "-1") == "FILE:2: time_s '-1' is not a number above 0");
  CHECK(error("0.003639", " ") == "FILE:2: time_s is empty");
  CHECK(error("gpu0,gpu1", "0,1") == "FILE:2: source '0' is no device: gpu<n> or host");
  CHECK(error("gpu0,gpu1", "gpu00,gpu1") == "FILE:2: source 'gpu00' is no device: gpu<n> or host");
  const std::string digits(1000000, '1');  // long enough to exhaust the stack of a recursive matcher
  CHECK(error("gpu0,gpu1", "gpu" + digits + ",gpu1").rfind("FILE:2: source 'gpu111", 0) == 0);
  CHECK(error("\"gpu2\"", "\"gpu2") == "FILE:4: text behind a closing quote: a comma or the end of the line is due");
  CHECK(error("\"gpu3\"", "gpu\"3\"") == "FILE:4: a quote inside a cell: quote the whole cell");
  CHECK(error("\"gpu3\"", "\"gpu3") == "FILE:4: a quote that does not end");
}

TEST_CASE("mgbench-csv: a matrix, the row sends", "[unit][import]") {
  Options options = {
      {"timing", "single"}, {"duplex", "full"}, {"unit", "GB/s"}, {"transport", "peer"}, {"size", "100MB"}};
  const Measurement m = imported("mgbench-csv", "mgbench-full.csv", options);
  REQUIRE(m.points.size() == 6);
  check_times(times_of(m.points, {"peer", "gpu0", "gpu2", 1e8, "", true}), {2 * 1e8 / 20.18e9});
  check_times(times_of(m.points, {"peer", "gpu2", "gpu0", 1e8, "", true}), {2 * 1e8 / 20.2e9});
  options["duplex"] = "half";
  options["unit"] = "MiB/s";
  const Measurement half = imported("mgbench-csv", "mgbench-full.csv", options);
  check_times(times_of(half.points, {"peer", "gpu0", "gpu2", 1e8}), {1e8 / (20.18 * 1048576)});
  const auto error = [&](const std::string& from, const std::string& to) {
    return error_after("mgbench-csv", "mgbench-full.csv", from, to, options);
  };
  CHECK(error("1,2\n", "2,1\n") == "FILE:1: '2' stands where column number 1 is due");
  CHECK(error("\n1,", "\n2,") == "FILE:3: '2' stands where row number 1 is due");
  CHECK(error("\n2,", "") == "FILE:3: the matrix ends after 2 of 3 rows");
  CHECK(error("36.42", "fast") == "FILE:2: 'fast' in column 1 is not a number above 0");
  CHECK(error("0,,", "0,500,") ==
        "FILE:2: '500' for GPU 0 and itself: leave it empty, N/A or -: how local copies count is not said");
  options.erase("size");
  CHECK(error("GPU", "GPU ") ==
        "option size: is needed, the matrix does not say it: bytes of a copy in one direction, e.g. 100MB");
}

TEST_CASE("an imported record is checked, fitted and compared", "[unit][import]") {
  const ScratchFolder scratch;
  const std::string record = (scratch / "p100.json").string(), fitted = (scratch / "fit.json").string();
  const Run import = run_program("import p2pBandwidthLatencyTest tests/input/import/" + kOld +
                                 " --machine box --topology p100-dgx1 --out '" + record + "'");
  INFO(import.err);
  REQUIRE(import.code == 0);
  CHECK(import.out.empty());
  CHECK(run_program("check '" + record + "'").out == record + ": ok, measurement/1\n");
  const Run fit =
      run_program("calibrate fit '" + record + "' --topology p100-dgx1 --inherit models/params/p100-dgx1.json" +
                  " --out '" + fitted + "'");
  INFO(fit.err);
  REQUIRE(fit.code == 0);
  // 32 NVLinks print 18.39 to 18.41 GB/s at 40 MB and start up in 9.1 to 10.3 us, half a per cent of those 2.17 ms
  const double link_Bps =
      parse_json(text_of_file(fitted), fitted)["parameters"]["cable.nvlink1.bandwidth_Bps"]["value"];
  CHECK_THAT(link_Bps, WithinRel(18.41e9 * 1.0045, 0.001));
  const Run compare = run_program("validate --against '" + record + "' --median-limit 0.2");
  INFO(compare.out);
  CHECK(compare.code == 0);
  CHECK(compare.out.find("copy_engine read       1 MiB and above       32") != std::string::npos);
}

TEST_CASE("messages that a machine has no parameters for are no comparison", "[unit][import]") {
  const ScratchFolder scratch;
  const std::string record = (scratch / "record.json").string();
  const Run import = run_program(
      "import perftest tests/input/import/perftest-write-bw.txt --machine m --topology leonardo --option src=gpu0 "
      "--option dst=gpu1 --out '" +
      record + "'");
  REQUIRE(import.code == 0);
  const Run compare = run_program("validate --against '" + record + "'");
  CHECK(compare.code == 2);
  CHECK(compare.err.find("error: " + record +
                         ": nothing to compare: query: transport: no message of the kind "
                         "gpudirect_rdma was measured on leonardo") == 0);
}

TEST_CASE("collectives of one and of several nodes are compared apart", "[unit][import]") {
  const ScratchFolder scratch;
  const std::string record = (scratch / "record.json").string();
  Json json = parse_json(text_of_file(test::data_dir() + "/calibrate/data/alps/nccl-2.23.json"), "alps");
  Json two = json["points"][0];
  REQUIRE(two.contains("op"));
  two["nodes"] = 2;
  Json one = two;
  one["nodes"] = 1;
  json["points"] = {one, two};
  std::ofstream(record) << json;
  const Run compare = run_program("validate --against '" + record + "' --json");
  const Json groups = parse_json(compare.out, "output")["comparisons"][0]["groups"];
  REQUIRE(groups.size() == 2);
  const std::string first = groups[0]["variant"], second = groups[1]["variant"];
  CHECK(first.find("nodes") == std::string::npos);
  CHECK(second.find(" on 2 nodes") != std::string::npos);
}

TEST_CASE("linkcast import: exit codes, one line, help", "[unit][import]") {
  const std::string start =
      "import p2pBandwidthLatencyTest tests/input/import/" + kWrites + " --machine m --topology t ";
  for (const auto& [arguments, what] : std::map<std::string, std::string>{
           {"--option elements", "error: --option: 'elements' is not key=value, see 'linkcast help import'\n"},
           {"--option =1", "error: --option: '=1' is not key=value, see 'linkcast help import'\n"},
           {"--option id=a --option id=b", "error: --option id: is given twice\n"},
           {"no-such-file", "error: no-such-file: no such file, or not readable\n"}}) {
    const Run run = run_program(start + arguments);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(run.err == what);
  }
  const Run printed = run_program(start);
  CHECK(printed.code == 0);
  CHECK(printed.out.rfind("{\n \"schema\": \"measurement/1\"", 0) == 0);
  const std::string help = words_of(run_program("help formats").out);
  for (const PluginInfo& info : importers().list()) {
    CHECK(help.find(" " + info.name + " " + words_of(info.summary)) != std::string::npos);
    for (const ImportOption& option : importers().get(info.name).options())
      CHECK(help.find(" " + option.key + " " + words_of(option.text)) != std::string::npos);
  }
}

}  // namespace linkcast::test::import_test
