// Other forms of the output of known tools: perftest's JSON, AMD's CSV, tables that a terminal broke, UFM's
// JSON, bare NaN in timelines. Invented figures.
#include "tests/unit/import_support.hpp"
#include "tests/unit/import_topology.hpp"
#include "tests/unit/trace_import.hpp"

namespace linkcast::test::tool_variants_test {

namespace {

const Options kHosts{{"src", "cpu0"}, {"dst", "cpu0"}};

/// The error of an import of a file with this text, which it calls FILE.
std::string refused(const std::string& format, const std::string& text, const Options& options) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "FILE").string();
  std::ofstream(path, std::ios::binary) << text;
  std::string what = test::error_of(format, {path}, options);
  for (auto at = what.find(path); at != std::string::npos; at = what.find(path)) what.replace(at, path.size(), "FILE");
  return what;
}

Measurement imported_text(const std::string& format, const std::string& text, const Options& options) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "FILE").string();
  std::ofstream(path, std::ios::binary) << text;
  return imported_files(format, {path}, options);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

std::string indented(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += "    " + line + "\n";
  return out;
}

/// Devices and cables without what says where they come from.
Json wiring(const Json& record) {
  Json cables = Json::array();
  for (const Json& cable : record["cables"]) cables.push_back({cable["between"], cable["count"], cable["bandwidth"]});
  return {record["devices"], cables};
}

}  // namespace

TEST_CASE("perftest's JSON: message rate and size show the unit", "[unit][import]") {
  const std::string good = text_of_file(sample_path("perftest-write-bw.json"));
  const Measurement m = imported("perftest", "perftest-write-bw.json", kHosts);
  REQUIRE(m.points.size() == 1);
  CHECK_THAT(m.points[0].time_s[0], WithinRel(65536 / (197.43e9 / 8), 1e-12));
  CHECK(has_note(m, "perftest-write-bw.json names no unit: rate, message rate and size show that it is Gb/sec."));
  const std::string in_mb = replaced(replaced(good, "197.50", "23545.00"), "197.43", "23535.50");
  CHECK_THAT(imported_text("perftest", in_mb, kHosts).points[0].time_s[0],
             WithinRel(65536 / (23535.50 * 1048576), 1e-12));
  const std::string both = replaced(good, "RDMA_Write BW", "RDMA_Write Bidirectional BW");
  CHECK_THAT(imported_text("perftest", both, kHosts).points[0].time_s[0], WithinRel(2 * 65536 / (197.43e9 / 8), 1e-12));
  const std::string no_rate =
      replaced(good, "\"BW_average\": 197.43,\n\"MsgRate\": 0.376568", "\"BW_average\": 197.43");
  CHECK(refused("perftest", no_rate, kHosts).find("option unit=Gb/sec") != std::string::npos);
  Options said = kHosts;
  said["unit"] = "MB/sec";
  CHECK_THAT(imported_text("perftest", no_rate, said).points[0].time_s[0],
             WithinRel(65536 / (197.43 * 1048576), 1e-12));
  CHECK(refused("perftest", good, said).find("as option unit says") != std::string::npos);
  CHECK(refused("perftest", replaced(good, "0.376568", "0.476568"), kHosts).find("fit neither Gb/sec nor MB/sec") !=
        std::string::npos);
}

TEST_CASE("perftest: messages and rates of a row fit each other", "[unit][import]") {
  const std::string good = text_of_file(sample_path("perftest-write-bw.txt"));
  CHECK(refused("perftest", replaced(good, "197.43", "19.43"), kHosts)
            .find("0.376568 messages of 65536 bytes and a rate of 19.43 do not fit each other") != std::string::npos);
}

TEST_CASE("perftest's JSON: what is lost is asked for", "[unit][import]") {
  const std::string good = text_of_file(sample_path("perftest-write-bw.json"));
  CHECK(refused("perftest", replaced(good, "\"test\": \"RDMA_Write BW Test\",\n", ""), kHosts)
            .find("does not say its test: add option test=") != std::string::npos);
  const std::string typed = "$ ib_read_bw -b -F node2\n" + replaced(good, "\"test\": \"RDMA_Write BW Test\",\n", "");
  const Measurement m = imported_text("perftest", typed, kHosts);
  CHECK(m.points[0].bidirectional);
  CHECK(has_note(m, "RDMA_Read: source is the memory that is read."));
  CHECK(refused("perftest", good + good, kHosts).find("a further run begins") != std::string::npos);
  CHECK(refused("perftest", good.substr(0, good.size() - 30), kHosts).find("FILE: not JSON") == 0);
  const std::string sizes = replaced(good, "\"MsgRate\": 0.376568\n}",
                                     "\"MsgRate\": 0.376568\n},\n\"results\": {\n\"MsgSize\":"
                                     " 8388608, \"BW_average\": 197.58, \"MsgRate\": 0.002944}");
  CHECK(imported_text("perftest", indented(sizes), kHosts).points.size() == 2);
  const std::string latency =
      R"({"test_info": {"test": "Send Latency Test"}, "results": {"MsgSize": 2, "t_typical": 1.04, "t_avg": 1.05}})";
  CHECK_THAT(imported_text("perftest", latency, kHosts).points[0].time_s[0], WithinRel(1.04e-6, 1e-12));
}

TEST_CASE("perftest's JSON: each run is of the command above it", "[unit][import]") {
  const std::string good =
      replaced(text_of_file(sample_path("perftest-write-bw.json")), "\"test\": \"RDMA_Write BW Test\",\n", "");
  const std::string two =
      "$ ib_write_bw --use_cuda=0 --out_json\n" + good + "$ ib_read_bw \\\n  --out_json host\n" + good;
  Options same = kHosts;
  same["runs"] = "same";
  CHECK(refused("perftest", two, same).find("whose buffers are in GPU memory") !=
        std::string::npos);  // the first run's buffers are the GPU's
  const Measurement m = imported_text("perftest", replaced(two, "--use_cuda=0", "-b"), same);
  REQUIRE(m.points.size() == 2);
  CHECK(m.points[0].bidirectional);
  CHECK_FALSE(m.points[1].bidirectional);
  CHECK(refused("perftest", two, kHosts).find("FILE:29: a further run begins") == 0);
  const Measurement behind = imported_text("perftest", good + "$ ib_read_bw --out_json host\n", kHosts);
  CHECK(has_note(behind, "RDMA_Read: source is the memory that is read."));
}

TEST_CASE("perftest's JSON: NaN is no value, sizes inside a result or the settings are no results", "[unit][import]") {
  const std::string good = text_of_file(sample_path("perftest-write-bw.json"));
  CHECK(imported_text("perftest", replaced(good, "197.50", "-nan"), kHosts).points.size() == 1);
  CHECK(refused("perftest", replaced(good, "197.43", "nan"), kHosts).find("has no number BW_average") !=
        std::string::npos);
  const std::string nested = replaced(good, "0.376568\n", "0.376568,\n\"cpu\": {\"size\": 4}\n");
  CHECK(imported_text("perftest", nested, kHosts).points.size() == 1);
  const std::string settings = replaced(good, "\"Mtu\": 4096", "\"Mtu\": 4096, \"size\": 65536, \"o\": {\"size\": 1}");
  CHECK(imported_text("perftest", settings, kHosts).points.size() == 1);
}

TEST_CASE("amd-smi's and rocm-smi's CSV give what their text gives", "[unit][import]") {
  const Options model{{"gpu", "MI300X"}};
  const Json text = import_json("rocm-topo", {"amd-smi-topology.txt"}, model);
  CHECK(wiring(import_json("rocm-topo", {"amd-smi-topology.csv"}, model)) == wiring(text));
  CHECK(wiring(import_json("rocm-topo", {"amd-smi-topology-links.csv"}, model)) == wiring(text));
  const Topology four = import_file("rocm-topo", {"rocm-topo.csv"}, model);
  CHECK(four.gpus().size() == 4);
  CHECK(nvlinks_between(four, "gpu0", "gpu3") == 1);
  CHECK(pcie_path(four, "gpu1", "gpu2") == "SYS");
  const std::string csv = text_of_file(sample_path("amd-smi-topology.csv"));
  CHECK(refused("rocm-topo", csv.substr(0, csv.find("3,0000:c6")), model)
            .find("FILE line 2: has a column of GPU 3, and no line with its bdf is there") == 0);
  CHECK(refused("rocm-topo", csv.substr(0, csv.size() - 20), model).find("cells, the first row 22") !=
        std::string::npos);
  const std::string lists = text_of_file(sample_path("amd-smi-topology-links.csv"));
  const ScratchFolder scratch;
  const std::string path = (scratch / "FILE").string();
  std::ofstream(path) << replaced(lists, "'bandwidth': 'N/A'", R"('bandwidth': None, 'own': True, 'name': ""O'X"")");
  CHECK(wiring(import_json("rocm-topo", {path}, model)) == wiring(text));
}

TEST_CASE("AMD's JSON and CSV without a pair of GPUs are refused", "[unit][import]") {
  const Options model{{"gpu", "MI300X"}};
  const std::string csv = text_of_file(sample_path("rocm-topo.csv"));
  CHECK(refused("rocm-topo", replaced(csv, "Link type between DRM devices 1 and 2", "Was between 1 and 2"), model) ==
        "FILE: says nothing of GPU1 to GPU2 in 'Link Type between two GPUs': a part of it is lost");
  const std::string amd = text_of_file(sample_path("amd-smi-topology.json"));
  CHECK(refused("rocm-topo", replaced(amd, "\"link_type\": \"XGMI\"", "\"link_typ\": \"XGMI\""), model)
            .find("in 'LINK TYPE TABLE:': a part of it is lost") != std::string::npos);
}

TEST_CASE("tables of topo -m that a terminal or a mail broke", "[unit][import]") {
  const Options model{{"gpu", "H100"}};
  const Json whole = wiring(import_json("topo-m", {"topo-h100-nics.txt"}, model));
  CHECK(wiring(import_json("topo-m", {"topo-wrapped-terminal.txt"}, model)) == whole);
  CHECK(wiring(import_json("topo-m", {"topo-wrapped-mail.txt"}, model)) == whole);
  std::istringstream lines(text_of_file(input("topo-h100-nics.txt")));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  for (std::size_t width = 40; width < 160; width += 7) {
    INFO(width);
    std::string text;
    for (std::string line : all) {
      for (; line.size() > width; line.erase(0, width)) text += line.substr(0, width) + "\n";
      text += line + "\n";
    }
    const ScratchFolder scratch;
    const std::string path = (scratch / "FILE").string();
    std::ofstream(path) << text;
    CHECK(wiring(import_json("topo-m", {path}, model)) == whole);
  }
  const std::string broken = text_of_file(input("topo-wrapped-terminal.txt"));
  const std::size_t at = broken.find("\n", broken.find("GPU3    NV18"));
  CHECK(refused("topo-m", broken.substr(0, at + 1) + broken.substr(broken.find("GPU4    NV18")), model) !=
        "none");  // the rest of a row is missing
}

TEST_CASE("UFM's links with systems or ports are a fabric", "[unit][import]") {
  const auto refusal = [](const std::vector<std::string>& files, const Options& options = {}) -> std::string {
    try {
      import_json("ib-fabric", files, options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  };
  CHECK(refusal({"ufm-links.json"}).find("the speed of this link is not said") != std::string::npos);
  const Json said = import_json("ib-fabric", {"ufm-links.json"}, {{"speed", "HDR"}});
  CHECK(said["fabric"]["hosts"].size() == 3);
  CHECK(said["fabric"]["cables"].size() == 2);
  CHECK(said["fabric"]["links"]["host"]["cable"] == "ib_hdr");
  CHECK(said["switches"][0] == Json({{"name", "leaf-a"}, {"nodes", {"node001", "node002"}}}));
  const Json ports = import_json("ib-fabric", {"ufm-links.json", "ufm-ports.json"});
  CHECK(ports["fabric"]["links"]["host"]["cable"] == "ib_edr");
  CHECK(ports["fabric"]["links"]["switch"]["cable"] == "ib_hdr");
  const Json systems = import_json("ib-fabric", {"ufm-links.json", "ufm-systems.json"});
  CHECK(systems["source"].get<std::string>().find("assumed: cables run at what the switch can") != std::string::npos);
  const Changed bare("ufm-links.json", {{"HCA-1/1", "1"}, {" mlx5_0", ""}});
  CHECK(refusal({bare.path()}, {{"speed", "HDR"}}).find("is a switch or a host is not said") != std::string::npos);
  const Changed twice("ufm-links.json", {{"\"destination_port\": \"2\"", "\"destination_port\": \"1\""}});
  CHECK(refusal({twice.path()}, {{"speed", "HDR"}}).find("has another cable above") != std::string::npos);
  const Changed none("ufm-links.json", {{"\"width\": \"IB_4x\"", "\"width\": \"IB_0x\""}});
  CHECK(refusal({none.path()}, {{"speed", "HDR"}}).find("width 'IB_0x' is no number of lanes") != std::string::npos);
  const Changed unknown("ufm-links.json", {{"\"width\": \"IB_4x\"", "\"width\": \"IB_4x\", \"speed\": \"NDR200\""}});
  CHECK(refusal({unknown.path(), "ufm-systems.json"}).find("speed 'NDR200' is none of SDR, DDR") != std::string::npos);
  CHECK(refusal({unknown.path()}, {{"speed", "NDR"}}) == "none");
  const Changed self("ufm-links.json", {{"\"destination_guid\": \"0x1070fd0300aa0001\"",
                                         "\"destination_guid\": \"0xb8cef603004aa000\""}});
  CHECK(refusal({self.path()}, {{"speed", "HDR"}}).find("port 1 of b8cef603004aa000 has a cable to itself") !=
        std::string::npos);
  CHECK(refusal({"ufm-systems.json"}).find("UFM's links are needed") != std::string::npos);
}

TEST_CASE("bare NaN and Infinity in timelines are no values", "[unit][import]") {
  const auto timeline = [](const std::string& value, const std::string& duration) {
    return R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NaN \" Infinity"}], "traceEvents": [
      {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
      {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 5, "dur": 2,
       "args": {"correlation": 7}},
      {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": )" +
           duration + R"(, "args": {"device": 0, "stream": 7, "correlation": 7, "warps per SM": )" + value + "}}]}";
  };
  const std::string plain = trace_of("kineto", timeline("1.5", "40"))->text;
  for (const char* value : {"NaN", "Infinity", "-Infinity", "inf", "-nan"})
    CHECK(trace_of("kineto", timeline(value, "40"))->text == plain);
  CHECK(trace_error("kineto", timeline("1", "NaN")).find("dur must be a number") != std::string::npos);
}

}  // namespace linkcast::test::tool_variants_test
