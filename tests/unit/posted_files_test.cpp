// Files as people post them, where they differ from the samples of their formats. Figures are invented.
#include <functional>
#include <sstream>

#include "tests/unit/import_support.hpp"
#include "tests/unit/import_topology.hpp"

namespace linkcast::test::posted_files_test {

namespace {

const Options kHosts{{"src", "cpu0"}, {"dst", "cpu0"}};
const Options kAllReduce{{"op", "all_reduce"}};

/// The record of a text, or its error, with the file called FILE.
Json record_of(const std::string& format, const std::string& text, const Options& options = {},
               const std::string& topology = "p100-dgx1") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "log.txt").string();
  std::ofstream(path, std::ios::binary) << text;
  try {
    return import_record(format, {{path}, "box", topology, options});
  } catch (const InputError& error) {
    std::string what = error.what();
    for (auto at = what.find(path); at != std::string::npos; at = what.find(path))
      what.replace(at, path.size(), "FILE");
    return what;
  }
}

std::string result_of(const std::string& format, const std::string& text, const Options& options = {}) {
  const Json record = record_of(format, text, options);
  return record.is_string() ? record.get<std::string>() : record["points"].dump();
}

std::string sample(const std::string& name) { return text_of_file(sample_path(name)); }

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// Every line as an object of a collector of logs.
std::string collected(const std::string& text, const std::function<Json(const std::string&)>& object) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);) all += object(line).dump() + "\n";
  return all;
}

}  // namespace

TEST_CASE("collectors' lines of JSON hold the log", "[unit][import]") {
  const std::string text = sample("nccl-all_reduce_perf-plain.txt"), points = result_of("nccl-tests", text, kAllReduce);
  REQUIRE(points.front() == '[');
  const auto same = [&](const std::function<Json(const std::string&)>& object) {
    CHECK(result_of("nccl-tests", collected(text, object), kAllReduce) == points);
  };
  same([](const std::string& line) { return Json{{"log", line + "\n"}, {"stream", "stdout"}}; });
  same([](const std::string& line) { return Json{{"log", line}, {"stream", "stdout"}}; });
  same([](const std::string& line) {
    return Json{{"time", "2025-06-07T08:09:10Z"}, {"level", "info"}, {"msg", line}};
  });
  same([](const std::string& line) {
    return Json{{"@timestamp", "2025-06-07T08:09:10Z"}, {"kubernetes", {{"pod_name", "bench-0"}}}, {"message", line}};
  });
  std::string pods;
  for (const char* pod : {"bench-0", "bench-1"})
    pods += collected(text, [&](const std::string& line) { return Json{{"labels", {{"pod", pod}}}, {"line", line}}; });
  CHECK(result_of("nccl-tests", pods, kAllReduce).find("a table of another process, '[bench-1]', than") !=
        std::string::npos);
}

TEST_CASE("nvbandwidth says why a test was waived", "[unit][import]") {
  const std::string text = sample("nvbandwidth-h100.txt");
  for (const std::string why : {"WAIVED: multinode tests are for several processes",
                                "Waived: multinode_device_to_device_memcpy_write_sm needs 2 processes"}) {
    const Json record = record_of(
        "nvbandwidth", with(text, "Running host_to",
                            "Running multinode_device_to_device_memcpy_write_sm.\n" + why + "\n\nRunning host_to"));
    REQUIRE(record.is_object());
    CHECK(record["points"].size() == record_of("nvbandwidth", text)["points"].size() + 1);
    CHECK(record["points"].dump().find("waived") != std::string::npos);
  }
}

TEST_CASE("JSON of nvbandwidth without its version names processes", "[unit][import]") {
  const Json record = record_of("nvbandwidth", sample("nvbandwidth-processes.json"), {}, "gb200-nvl72");
  REQUIRE(record.is_object());
  CHECK(record["environment"]["nvbandwidth"] == "0.8");
  CHECK(record["environment"]["gpus"] == Json::array({"NVIDIA GB200", "NVIDIA GB200"}));
  CHECK(record["points"][0]["source"] == "gpu0");
  CHECK(record["points"][0]["bandwidth_Bps"][0] == 700.5e9);
}

TEST_CASE("a row that the end of the text cuts off is an error", "[unit][import]") {
  CHECK(result_of("osu", "# OSU MPI Bandwidth Test v7.2\n# Size      Bandwidth (MB/s)\n1     2.5\n2", kHosts)
            .find("FILE:4: has 1 values for 2 columns") != std::string::npos);
  const std::string perftest = sample("perftest-write-bw.txt");
  CHECK(result_of("perftest", perftest.substr(0, perftest.find(" 8388608") + 8), kHosts)
            .find("has 1 values for 5 columns") != std::string::npos);
}

TEST_CASE("a damaged row of nccl-tests is no line of another program", "[unit][import]") {
  const std::string text = sample("nccl-all_reduce_perf-plain.txt");
  CHECK(result_of("nccl-tests", with(text, " 1048576        262144", " 1048576"), kAllReduce)
            .find("has 12 values for 13 columns") != std::string::npos);
  CHECK(result_of("nccl-tests", with(text, " 1048576        262144", " 1,048,576        262144"), kAllReduce)
            .find("size '1,048,576' is no size") != std::string::npos);
  CHECK(result_of("nccl-tests", with(text, " time ", " cputime "), kAllReduce).find("times of the CPU (option C") !=
        std::string::npos);
}

TEST_CASE("slices of GPUs are not whole ones", "[unit][import]") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "log.txt").string();
  std::ofstream(path) << with(sample("nvbandwidth-h100.txt"), "HBM3 (", "HBM3 MIG 3g.40gb (");
  CHECK(run_program("import nvbandwidth " + path + " --machine box --topology hgx-h100").err ==
        "error: the file names 'NVIDIA H100 80GB HBM3 MIG 3g.40gb': slices of a GPU (MIG) have other rates than a "
        "whole one\n");
}

TEST_CASE("output that is not read says what is", "[unit][import]") {
  CHECK(result_of("perftest", "{\"test_info\": {\"test\": \"RDMA_Write_BW_Test\"}}\n", kHosts) ==
        "FILE: JSON of perftest without results: an object with MsgSize is due");
  CHECK(result_of("dcgm", "Successfully ran diagnostic for group.\n| PCIe | Pass - All |\n") ==
        "FILE: is the table of dcgmi diag, which has no rates: run dcgmi diag -r 3 --json");
  CHECK(
      result_of("rocm-topo", "gpu,bdf,links\n0,0000:0c:00.0,[]\n", {{"gpu", "MI300X"}}) ==
      "FILE: no table 'Link Type between two GPUs' of rocm-smi --showtopo, nor 'LINK TYPE TABLE' of amd-smi topology");
  const std::string xml = sample("nccl-hgx-h200.xml");
  CHECK(result_of("nccl-xml", xml + xml).find("a second document begins, 'system': import them one by one") !=
        std::string::npos);
}

TEST_CASE("adapters of virtual machines show SYS inside the NUMA node of their GPU", "[unit][import]") {
  const Topology t = import_file("topo-m", {"topo-virtual-nics.txt"}, {{"gpu", "A100-SXM4-80GB"}});
  CHECK_FALSE(t.find("cpu1"));
  CHECK(cable(t, "gpu0", "gpu2").count == 4);
  CHECK(cable(t, "nic0", "plx0").kind == "pcie4");
  CHECK(cable(t, "gpu0", "plx0").kind == "pcie4");
  CHECK(cable(t, "gpu1", "cpu0").kind == "pcie4");
  CHECK(t.source.find("assumed: SYS inside one NUMA node") != std::string::npos);
}

TEST_CASE("names of hosts with blanks or quotes, and prompts, in subnets of InfiniBand", "[unit][import]") {
  const std::string plain = sample("ibnetdiscover.txt");
  const auto nodes = [](const std::string& text) {
    const Json record = record_of("ib-fabric", text);
    REQUIRE(record.is_object());
    return record["switches"][0]["nodes"].dump();
  };
  REQUIRE(nodes(plain) == R"(["node001","node002"])");
  CHECK(nodes("[root@head ~]# ibnetdiscover\n" + plain + "[root@head ~]# \n") == R"(["node001","node002"])");
  CHECK(nodes(with(plain, "\"node002 mlx5_0\"", "\"'node002 HCA-1'\"")) == R"(["node001","node002"])");
  CHECK(nodes(with(with(plain, "\"node001 mlx5_0\"", "\"rack 1 node001 mlx5_0\""), "\"node002 mlx5_0\"",
                   "\"rack 1 node002 mlx5_0\"")) == R"(["rack 1 node001","rack 1 node002"])");
}

}  // namespace linkcast::test::posted_files_test
