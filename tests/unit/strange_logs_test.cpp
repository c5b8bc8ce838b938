// Tables behind prefixes of launchers and collectors, in pages of text, between other lines, and of programs that few
// people post. Figures are made up.
#include <fmt/format.h>

#include <functional>
#include <sstream>

#include "calibrate/import/log_text.hpp"
#include "tests/unit/import_support.hpp"

namespace linkcast::test::strange_logs_test {

namespace {

const Options kPair{{"src", "gpu0"}, {"dst", "gpu1"}};
const Options kAllReduce{{"op", "all_reduce"}};
const Options kHosts{{"src", "cpu0"}, {"dst", "cpu0"}};

/// Points of a text, or its error, with the file called FILE.
std::string result_of(const std::string& format, const std::string& text, const Options& options = {}) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "log.txt").string();
  std::ofstream(path, std::ios::binary) << text;
  try {
    return import_record(format, {{path}, "box", "p100-dgx1", options})["points"].dump();
  } catch (const InputError& error) {
    std::string what = error.what();
    for (auto at = what.find(path); at != std::string::npos; at = what.find(path))
      what.replace(at, path.size(), "FILE");
    return what;
  }
}

/// Every line behind what `prefix` gives for its number.
std::string behind(const std::string& text, const std::function<std::string(int)>& prefix) {
  std::istringstream lines(text);
  std::string all;
  int number = 0;
  for (std::string line; std::getline(lines, line);) all += prefix(number++) + line + "\n";
  return all;
}

struct Sample {
  std::string format, file;
  Options options;
};

/// Text that is read as it is, one of each importer.
const std::vector<Sample>& samples() {
  static const std::vector<Sample> all = {{"nccl-tests", "nccl-all_reduce_perf-plain.txt", kAllReduce},
                                          {"osu", "osu-bw-nv4.txt", kPair},
                                          {"nvbandwidth", "nvbandwidth-h100.txt", {}},
                                          {"nvbandwidth", "nvbandwidth-h100.json", {}},
                                          {"p2pBandwidthLatencyTest", "p2p-across-sockets.txt", {}},
                                          {"perftest", "perftest-write-bw.txt", kHosts},
                                          {"ucx_perftest", "ucx-tag-bw.txt", kPair},
                                          {"rocm-bandwidth-test", "rocm-bandwidth-test.txt", {}}};
  return all;
}

const std::map<std::string, std::function<std::string(int)>>& prefixes() {
  const auto always = [](const std::string& text) { return [text](int) { return text; }; };
  const auto stamped = [](const std::string& before, const std::string& behind_it) {
    return [=](int i) { return before + fmt::format("{:02}", i % 60) + behind_it; };
  };
  static const std::map<std::string, std::function<std::string(int)>> all = {
      {"a page of documentation", always("    ")},
      {"a tab", always("\t")},
      {"a quote", always("> ")},
      {"code in a quote", always(">     ")},
      {"a comment", always("// ")},
      {"pdsh", always("box-a: ")},
      {"clush", always("[box-a] ")},
      {"ansible", always("box-a | ")},
      {"srun -l", always(" 0: ")},
      {"Open MPI 4", always("[1,0]<stdout>:")},
      {"Open MPI 5", always("[prterun-box-4242@1,0]<stdout>: ")},
      {"hydra", always("[0] ")},
      {"torchrun", always("[default0]:")},
      {"kubectl --prefix", always("[pod/bench-ab1cd/launcher] ")},
      {"CRI", stamped("2025-06-07T08:09:", ".123456789Z stdout F ")},
      {"docker compose", always("bench-1  | ")},
      {"Ray", always("(Worker pid=4242, ip=10.9.8.7) ")},
      {"Python's logging", stamped("2025-06-07 08:09:", ",123 - bench.runner - INFO - ")},
      {"loguru", stamped("2025-06-07 08:09:", ".123 | INFO     | __main__:run:45 - ")},
      {"syslog", stamped("Jun  7 08:09:", " box-a bench[4242]: ")},
      {"glog", stamped("I0607 08:09:", ".123456  4242 main.cc:45] ")},
      {"a stamp behind a host", stamped("box-a: 2025-06-07 08:09:", " ")},
      {"cat -n", [](int i) { return fmt::format("{:6}\t", i + 1); }},
      {"colours", always("\x1b[0m\x1b[K")}};
  return all;
}

}  // namespace

TEST_CASE("every importer of text takes off every prefix", "[unit][import]") {
  for (const Sample& sample : samples()) {
    const std::string text = text_of_file(sample_path(sample.file));
    const std::string points = result_of(sample.format, text, sample.options);
    REQUIRE(points.front() == '[');
    for (const auto& [name, prefix] : prefixes()) {
      INFO(sample.file << ", " << name);
      CHECK(result_of(sample.format, behind(text, prefix), sample.options) == points);
    }
  }
}

TEST_CASE("lines of several processes are not mixed", "[unit][import]") {
  for (const Sample& sample : samples()) {
    const std::string text = text_of_file(sample_path(sample.file));
    const std::string points = result_of(sample.format, text, sample.options);
    INFO(sample.file);
    const auto after = [](const std::string& other) { return [other](int) { return other + "\n0: "; }; };
    CHECK(result_of(sample.format, behind(text, after("1: hello")), sample.options) == points);
    CHECK(result_of(sample.format, behind(text, [](int) { return "box-b: hello\nbox-a: "; }), sample.options) ==
          points);
    std::string both;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) both += "box-a: " + line + "\nbox-b: " + line + "\n";
    CHECK(result_of(sample.format, both, sample.options).find("a table of another process, 'box-b:', than") !=
          std::string::npos);
  }
}

TEST_CASE("logs of launchers and collectors of one run of nccl-tests", "[unit][import]") {
  const std::string plain =
      result_of("nccl-tests", text_of_file(sample_path("nccl-all_reduce_perf-plain.txt")), kAllReduce);
  CHECK(plain.find("[0.00015]") != std::string::npos);
  for (const std::string kind : {"cri", "hydra", "kubectl", "logging", "ray"})
    CHECK(result_of("nccl-tests", text_of_file(sample_path("nccl-all_reduce_perf-" + kind + ".txt")), kAllReduce) ==
          plain);
}

TEST_CASE("parts of lines of CRI, and Docker's json-file", "[unit][import]") {
  const std::string text = text_of_file(sample_path("nccl-all_reduce_perf-plain.txt"));
  const std::string points = result_of("nccl-tests", text, kAllReduce),
                    stamp = "2025-06-07T08:09:10.123456789Z stdout ";
  std::istringstream lines(text);
  std::string parts, docker;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t half = line.size() / 2;
    parts += stamp + "P " + line.substr(0, half) + "\n" + stamp + "F " + line.substr(half) + "\n";
    docker += Json{{"log", line + "\n"}, {"stream", "stdout"}, {"time", "2025-06-07T08:09:10.1Z"}}.dump() + "\n";
  }
  CHECK(result_of("nccl-tests", parts, kAllReduce) == points);
  CHECK(result_of("nccl-tests", docker, kAllReduce) == points);
}

TEST_CASE("tables that stand behind blanks or a host", "[unit][import]") {
  const Measurement bw = imported("osu", "osu-indented.txt", kPair);
  REQUIRE(bw.points.size() == 4);
  CHECK_THAT(bw.points[0].time_s.at(0), WithinRel(1024 / 310.5e6, 1e-12));
  const Measurement alltoall = imported("osu", "osu-alltoall-indented.txt", {{"gpus", "4"}, {"nodes", "1"}});
  REQUIRE(alltoall.collectives.size() == 3);
  CHECK(alltoall.collectives[0].size_B == 8 * 4);
  CHECK_THAT(alltoall.collectives[0].time_s.at(0), WithinRel(25e-6, 1e-12));
  for (const std::string file : {"nvbandwidth-indented.txt", "nvbandwidth-pdsh.txt"}) {
    const Measurement m = imported("nvbandwidth", file);
    CHECK(m.points.size() == 4);
    CHECK_THAT(times_of(m.points, {"peer", "gpu1", "gpu0", 536870912, "read"}).at(0),
               WithinRel(536870912 / 361.5e9, 1e-12));
  }
}

TEST_CASE("nvbandwidth between processes of several nodes", "[unit][import]") {
  const Measurement m = imported("nvbandwidth", "nvbandwidth-multinode.txt");
  CHECK(m.points.size() == 12);
  CHECK_THAT(times_of(m.points, {"peer", "gpu3", "gpu2", 536870912, "read"}).at(0),
             WithinRel(536870912 / 732.5e9, 1e-12));
  CHECK(has_note(m, "assumed: process p of the multinode tests runs on gpu<p>"));
  CHECK(error_after("nvbandwidth", "nvbandwidth-multinode.txt", "Process 2", "Process 3") ==
        "FILE:11: process 3 stands where number 2 is due");
}

TEST_CASE("nvbandwidth: JSON between other lines, and several runs", "[unit][import]") {
  const Measurement m = imported("nvbandwidth", "nvbandwidth-text-around.json");
  CHECK(m.points.size() == 4);
  CHECK(m.waived == 1);
  CHECK(error_after("nvbandwidth", "nvbandwidth-text-around.json", "\"status\": \"Waived\"", "")
            .find("FILE: holds JSON with \"nvbandwidth\" that is broken, cut off") == 0);
  // a line that begins a run and is a matrix's title: read past once, not for ever
  CHECK(result_of("nvbandwidth", "nvbandwidth Version: v0.memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n    ") ==
        "FILE:2: the file ends here, 'Running TEST.' is missing");
  const std::string text = text_of_file(sample_path("nvbandwidth-indented.txt"));
  const Json points = Json::parse(result_of("nvbandwidth", text + text));
  REQUIRE(points.size() == 4);
  CHECK(points[0]["bandwidth_Bps"].size() == 2);
  std::string other = text;
  other.replace(other.find("00000000:18:00"), 14, "00000000:5D:00");
  CHECK(result_of("nvbandwidth", text + other) ==
        "FILE:26: device 0 is at 00000000:5D:00, at 00000000:18:00 in the run of FILE:1: other devices were visible; "
        "import "
        "the runs one by one, each with option gpus");
}

TEST_CASE("nccl-tests: columns without values, runs of one GPU, other visible GPUs", "[unit][import]") {
  const Measurement m = imported("nccl-tests", "nccl-alltoall_perf-no-redop.txt");
  REQUIRE(m.collectives.size() == 6);
  CHECK(m.collectives[0].op == "alltoall");
  CHECK_THAT(m.collectives[2].time_s.at(0), WithinRel(44.5e-6, 1e-12));
  CHECK(error_after("nccl-tests", "nccl-alltoall_perf-no-redop.txt", "61.25   68.48", "1.25   68.48") ==
        "FILE:14: time 1.25 and algbw 68.48 do not fit size 4194304: columns are mixed up, or times are the CPU's "
        "(option C of nccl-tests)");
  const Measurement two = imported("nccl-tests", "nccl-second-run-of-one-gpu.txt");
  CHECK(two.collectives.size() == 6);
  CHECK(has_note(two, "Left out: the run of nccl-second-run-of-one-gpu.txt:19 has one rank"));
  CHECK(error_after("nccl-tests", "nccl-second-run-of-one-gpu.txt", "#  Rank  1", "# rank 1")
            .find("one rank: a collective has at least two") != std::string::npos);
  const std::string text = text_of_file(sample_path("nccl-all_reduce_perf-plain.txt"));
  std::string other = text;
  for (const auto& [from, to] : {std::pair("[0x1a]", "[0x3a]"), std::pair("[0x1b]", "[0x3b]")})
    other.replace(other.find(from), 6, to);
  CHECK(result_of("nccl-tests", text + other, kAllReduce).find("device 0 is at 0x3a, at 0x1a in the run of FILE:1") !=
        std::string::npos);
}

TEST_CASE("nccl-tests without ranks: as many as the rates are of", "[unit][import]") {
  const Options eight{{"op", "all_reduce"}, {"gpus", "8"}},
      sixteen{{"op", "all_reduce"}, {"gpus", "8"}, {"nodes", "2"}};
  const std::string text = text_of_file(sample_path("nccl-srun-partial.txt"));  // busbw is 2 * 7 / 8 of algbw
  CHECK(Json::parse(result_of("nccl-tests", text, eight)).size() == 4);
  CHECK(result_of("nccl-tests", text, sixteen)
            .find("FILE:3: busbw is 1.750 times algbw, with 16 ranks it is 1.875: options gpus and nodes say") == 0);
}

TEST_CASE("osu: src and dst speak of one run", "[unit][import]") {
  CHECK(error_after("osu", "osu-two-pairs.txt", "# OSU", "# OSU", kPair)
            .find("FILE:10: a further run begins, and src and dst") == 0);
  const std::string run = text_of_file(sample_path("osu-indented.txt"));
  const Json points = Json::parse(result_of("osu", run + run, kPair));  // the same command twice
  REQUIRE(points.size() == 4);
  CHECK(points[0]["bandwidth_Bps"].size() == 2);
  const std::string table = run.substr(run.find('\n') + 1);
  CHECK(result_of("osu", table + table, kPair).find("FILE:8: a further run begins") == 0);
  CHECK(Json::parse(result_of("osu", table + table, {{"src", "gpu0"}, {"dst", "gpu1"}, {"runs", "same"}})).size() == 4);
}

TEST_CASE("osu and perftest: other lines between rows", "[unit][import]") {
  std::string text = text_of_file(sample_path("osu-indented.txt"));
  const std::string points = result_of("osu", text, kPair);
  text.insert(text.find("    1048576"), "[1732400000.123456] [box:1:0] parser.c:1 UCX  WARN  unused variable\n");
  CHECK(result_of("osu", text, kPair) == points);
  std::string verbs = text_of_file(sample_path("perftest-write-bw.txt"));
  const std::string rates = result_of("perftest", verbs, kHosts);
  verbs.insert(verbs.find(" 65536"),
               "Conflicting CPU frequency values detected: 1200.0 != 3400.0. CPU Frequency is not max.\n");
  CHECK(result_of("perftest", verbs, kHosts) == rates);
}

TEST_CASE("a last row without an end of its line is whole where it has the decimals of the row above",
          "[unit][import]") {
  std::string text = text_of_file(sample_path("osu-indented.txt"));
  text.pop_back();
  CHECK(Json::parse(result_of("osu", text, kPair)).size() == 4);
  text.pop_back();
  CHECK(result_of("osu", text, kPair) == "FILE:8: the file ends inside this line");
}

TEST_CASE("p2pBandwidthLatencyTest of two sockets", "[unit][import]") {
  const Measurement m = imported("p2pBandwidthLatencyTest", "p2p-across-sockets.txt");
  CHECK(m.points.size() == 84);
  CHECK_THAT(times_of(m.points, {"peer", "gpu0", "gpu2", 160000000, "write"}).at(0), WithinRel(160e6 / 21.42e9, 1e-12));
}

TEST_CASE("NCCL's inspector: the slowest rank of each call", "[unit][import]") {
  const std::string sample = "nccl-inspector-rank0.jsonl";
  const Measurement m = imported("nccl-inspector", sample);
  REQUIRE(m.collectives.size() == 2);
  CHECK(has_note(m, "assumed: 1 of 4 ranks have a file"));
  const std::string text = text_of_file(sample_path(sample));
  std::string second = text;
  for (auto at = second.find("\"rank\":0"); at != std::string::npos; at = second.find("\"rank\":0"))
    second.replace(at, 8, "\"rank\":1");
  second.replace(second.find("\"coll_exec_time_us\":21,"), 23, "\"coll_exec_time_us\":22,");
  second.replace(second.find("49.932190"), 9, "47.662545");
  const Json points = Json::parse(result_of("nccl-inspector", text + second));
  for (const Json& point : points)
    CHECK(point["time_s"] == (point["op"] == "all_reduce" ? Json{22e-6, 20e-6} : Json{40e-6}));
  CHECK(points.size() == 2);
  // without the second call of rank 1 nobody knows how long its slowest rank took
  const std::size_t cut = second.find('\n') + 1;
  const std::string without = second.substr(0, cut) + second.substr(second.find('\n', cut) + 1);
  for (const Json& point : Json::parse(result_of("nccl-inspector", text + without)))
    CHECK(point["time_s"] == (point["op"] == "all_reduce" ? Json{22e-6} : Json{40e-6}));
  CHECK(error_after("nccl-inspector", sample, "\"coll_exec_time_us\":21,", "\"coll_exec_time_us\":42,")
            .find("is not coll_msg_size_bytes by coll_exec_time_us") != std::string::npos);
  CHECK(error_after("nccl-inspector", sample, "kernel_gpu", "collective_cpu").find("timed differently") !=
        std::string::npos);
  CHECK(error_after("nccl-inspector", sample, "0x1122334455667788", "0x99").find("option communicator: is needed") ==
        0);
  CHECK(result_of("nccl-inspector", "no JSON\n").find("FILE: is no output of NCCL's inspector") == 0);
}

TEST_CASE("rocm-bandwidth-test: matrices of hosts and GPUs", "[unit][import]") {
  const std::string sample = "rocm-bandwidth-test.txt";
  const Measurement m = imported("rocm-bandwidth-test", sample);
  CHECK(m.points.size() == 8 + 2 + 2 + 8 + 2);  // host in both directions, local, peer; both at once: host, peer
  CHECK_THAT(times_of(m.points, {"host", "cpu1", "gpu0", 134217728}).at(0), WithinRel(134217728 / 27.603e9, 1e-12));
  CHECK_THAT(times_of(m.points, {"peer", "gpu1", "gpu0", 134217728}).at(0), WithinRel(134217728 / 25.125e9, 1e-12));
  CHECK_THAT(times_of(m.points, {"peer", "gpu0", "gpu1", 134217728, "", true}).at(0),
             WithinRel(2 * 134217728 / 45.5e9, 1e-12));
  CHECK(error_after("rocm-bandwidth-test", sample, "27.842", "").find("row 0 with 4 values is due") !=
        std::string::npos);
  CHECK(error_after("rocm-bandwidth-test", sample, "27.842", "-1").find("'-1' in column 2 is not a number above 0") !=
        std::string::npos);
  const std::string table =
      "================    Unidirectional Benchmark Result    ================\n"
      "================ Src Device Id: 0 Src Device Type: Cpu ================\n"
      "================ Dst Device Id: 2 Dst Device Type: Gpu ================\n\n"
      "Data Size      Avg Time(us)   Avg BW(GB/s)   Min Time(us)   Peak BW(GB/s)\n"
      "1 KB           5.000          0.205          4.800          0.213\n";
  const Json points = Json::parse(result_of("rocm-bandwidth-test", table, {{"cpus", "2"}}));
  REQUIRE(points.size() == 1);
  CHECK(points[0]["target"] == "gpu0");
  CHECK(points[0]["size_B"] == 1024);
  CHECK(points[0]["time_s"] == Json{5e-6});
  CHECK(result_of("rocm-bandwidth-test", table).find("option cpus: is needed") == 0);
}

TEST_CASE("AIConfigurator's table of NCCL: elements and milliseconds", "[unit][import]") {
  const std::string sample = "aiconfigurator-nccl.csv";
  CHECK(error_of("aiconfigurator", {sample_path(sample)}) ==
        "option dtype: is needed, column nccl_dtype has several values and a record holds one: one of half, int8");
  const Measurement m = imported("aiconfigurator", sample, {{"dtype", "half"}});
  REQUIRE(m.collectives.size() == 2);
  CHECK(m.collectives[1].size_B == 2 * 1048576);
  CHECK(m.collectives[1].gpus.size() == 8);
  CHECK_THAT(m.collectives[1].time_s.at(0), WithinRel(62.5e-6, 1e-12));
  CHECK(m.library == "nccl-2.27");
  CHECK(error_after("aiconfigurator", sample, "nccl_dtype", "allreduce_dtype")
            .find("FILE:1: column 'nccl_dtype' is missing") == 0);
  CHECK(result_of("aiconfigurator", "PAR1...").find("FILE: is Parquet, which is not read: write it as CSV first") == 0);
}

}  // namespace linkcast::test::strange_logs_test
