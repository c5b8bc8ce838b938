// Old versions of nccl-tests, command lines above the output of benchmarks, and figures that contradict each other.
// Invented figures.
#include "tests/unit/import_support.hpp"

namespace linkcast::test::log_commands_test {

namespace {

Measurement imported_text(const std::string& format, const std::string& text, const Options& options = {}) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "FILE").string();
  std::ofstream(path, std::ios::binary) << text;
  return imported_files(format, {path}, options);
}

std::string refused(const std::string& format, const std::string& text, const Options& options = {}) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "all_reduce_perf.txt").string();
  std::ofstream(path, std::ios::binary) << text;
  return error_of(format, {path}, options);
}

}  // namespace

TEST_CASE("nccl-tests 1.x: times in milliseconds", "[unit][import]") {
  const Measurement m = imported("nccl-tests", "nccl-1x-all-reduce.txt");
  REQUIRE(m.collectives.size() == 8);
  CHECK(m.collectives[0].op == "all_reduce");
  CHECK(m.collectives[0].gpus.size() == 4);
  CHECK_THAT(m.collectives[6].time_s.at(0), WithinRel(4.321e-3, 1e-12));
  CHECK_THAT(m.collectives[7].time_s.at(0), WithinRel(4.310e-3, 1e-12));
  CHECK(m.collectives[6].launch == "single_process");
  const Measurement own = imported("nccl-tests", "nccl-1-own-test.txt");
  REQUIRE(own.collectives.size() == 2);
  CHECK(own.collectives[0].op == "broadcast");
  CHECK_THAT(own.collectives[0].time_s.at(0), WithinRel(1.012e-3, 1e-12));
  CHECK(error_after("nccl-tests", "nccl-1x-all-reduce.txt", "4.321", "0.432").find("do not fit size 67108864") !=
        std::string::npos);
}

TEST_CASE("variables of NCCL in the command line are those of the run", "[unit][import]") {
  const std::string table = text_of_file(sample_path("nccl-all_reduce_perf-plain.txt"));
  const Measurement m =
      imported_text("nccl-tests", "$ NCCL_ALGO=Ring NCCL_DEBUG=WARN ./build/all_reduce_perf -g 2\n" + table);
  CHECK(m.collectives[0].algorithm == ForcedAlgorithm::kRing);
  CHECK(has_note(m, "NCCL ran with NCCL_ALGO=Ring: a forecast"));
  CHECK_FALSE(has_note(m, "assumed: NCCL chose algorithm"));
  const Measurement over = imported_text("nccl-tests",
                                         "$ export NCCL_PROTO=LL\n$ mpirun -np 2 \\\n  -x NCCL_P2P_LEVEL=SYS \\\n"
                                         "  ./build/all_reduce_perf\n" +
                                             table);
  CHECK(over.collectives[0].protocol == "LL");
  CHECK(has_note(over, "NCCL ran with NCCL_P2P_LEVEL=SYS, NCCL_PROTO=LL: a forecast"));
  const std::string ring = "$ NCCL_ALGO=Ring ./build/all_reduce_perf -g 2\n" + table;
  CHECK(refused("nccl-tests", ring + "$ NCCL_ALGO=Tree ./build/all_reduce_perf -g 2\n" + table)
            .find("not with the same variables of NCCL as the run of") != std::string::npos);
  CHECK(refused("nccl-tests", ring + "$ ./build/all_reduce_perf -g 2\n" + table).find("(NCCL_ALGO=Ring)") !=
        std::string::npos);
  CHECK(refused("nccl-tests", ring + ring) == "none");
  for (const char* several : {"NCCL_ALGO=Ring,Tree", "NCCL_PROTO=^LL"}) {
    const Measurement some =
        imported_text("nccl-tests", std::string("$ ") + several + " ./build/all_reduce_perf -g 2\n" + table);
    CHECK(has_note(some, std::string("NCCL ran with ") + several + ": a forecast"));
    CHECK_FALSE(has_note(some, "assumed: NCCL chose algorithm"));
  }
  CHECK(refused("nccl-tests", ring, {{"algorithm", "tree"}}).find("option algorithm: ") == 0);
}

TEST_CASE("a command begins a run with its own variables and the exported ones", "[unit][import]") {
  const std::string table = text_of_file(sample_path("nccl-all_reduce_perf-plain.txt"));
  const auto set = [&](const std::string& commands) {
    const MeasuredCollective point = imported_text("nccl-tests", commands + table).collectives.front();
    return point.algorithm.name() + "," + point.protocol;
  };
  CHECK(set("$ NCCL_PROTO=LL NCCL_ALGO=Tree ./all_reduce_perf -g 2\n./all_reduce_perf: error while loading\n"
            "$ ./all_reduce_perf -g 2\n") == ",");
  CHECK(set("  501  NCCL_ALGO=Ring ./all_gather_perf -g 2\n  502  ./all_reduce_perf -g 2\n") == ",");
  CHECK(set("  502  NCCL_ALGO=Ring ./all_reduce_perf -g 2\n") == "ring,");
  CHECK(set("$ export NCCL_ALGO=Ring\n$ ./all_gather_perf\n$ NCCL_PROTO=LL ./all_reduce_perf\n") == "ring,LL");
  CHECK(set("$ export NCCL_ALGO=Ring\n$ unset NCCL_ALGO\n$ ./all_reduce_perf -g 2\n") == ",");
  CHECK(set("$ export NCCL_ALGO=Ring NCCL_PROTO=LL\n$ export -n NCCL_ALGO\n$ ./all_reduce_perf\n") == ",LL");
  CHECK(set("$ export NCCL_ALGO=Ring; export NCCL_PROTO=LL128; ./all_reduce_perf -g 2\n") == "ring,LL128");
  CHECK(set("$ cd build && NCCL_ALGO=Ring ./all_reduce_perf -g 2 2>&1 | tee log &\n") == "ring,");
  CHECK(set("$ docker run -e NCCL_PROTO=LL box bash -c \"NCCL_ALGO='Ring' ./all_reduce_perf\"\n") == "ring,LL");
  CHECK(set("$ bash -c 'export NCCL_ALGO=Ring; ./all_gather_perf'\n$ ./all_reduce_perf\n") == ",");
  CHECK(refused("nccl-tests", "$ NCCL_ALGO=Ring ./all_reduce_perf; ./all_reduce_perf\n" + table + table)
            .find("(NCCL_ALGO=Ring)") != std::string::npos);
}

TEST_CASE("text about a program is no command", "[unit][import]") {
  const std::string table = text_of_file(sample_path("nccl-all_reduce_perf-plain.txt"));
  for (const char* text :
       {"# Earlier with NCCL_ALGO=Tree all_reduce_perf was slower", "NCCL_ALGO=Tree all_reduce_perf was slower",
        "$ echo NCCL_ALGO=Tree ./all_reduce_perf", "$ # NCCL_ALGO=Tree ./all_reduce_perf"}) {
    INFO(text);
    CHECK(imported_text("nccl-tests", text + ("\n" + table)).collectives.front().algorithm == ForcedAlgorithm::kNone);
  }
  const Measurement copies =
      imported_text("p2pBandwidthLatencyTest", "p2pBandwidthLatencyTest --sm_copy was not used here\n" +
                                                   text_of_file(sample_path("p2p-a100-writes.txt")));
  CHECK_FALSE(has_note(copies, "Kernels moved the data, as the command line says."));
  const std::string bandwidths = text_of_file(sample_path("nvbandwidth-h100.txt"));
  for (const char* text : {"For nvbandwidth the default of -b 512 was used? no: nvbandwidth used -b 1024",
                           "nvbandwidth used -b 1024", "$ ls ./nvbandwidth -b 1024"}) {
    INFO(text);
    CHECK(imported_text("nvbandwidth", text + ("\n$ ./nvbandwidth -b 64\n" + bandwidths)).points.front().size_B ==
          67108864);
  }
}

TEST_CASE("a command over many lines is read once, and one that nobody types not at all", "[unit][import]") {
  const std::string table = text_of_file(sample_path("nccl-all_reduce_perf-plain.txt"));
  const auto algorithm = [&](int lines) {
    std::string command = "$ NCCL_ALGO=Ring \\\n";
    for (int i = 0; i < lines; ++i) command += "NCCL_V" + std::to_string(i) + "=1 \\\n";
    return imported_text("nccl-tests", command + "  ./all_reduce_perf\n" + table).collectives.front().algorithm;
  };
  CHECK(algorithm(500) == ForcedAlgorithm::kRing);
  CHECK(algorithm(20000) == ForcedAlgorithm::kNone);
  CHECK(error_after("osu", "osu-allreduce.txt", "mpirun -np 8", "mpirun -np 4 \\\n ", {{"gpus", "8"}})
            .find("4 in the command line") != std::string::npos);
}

TEST_CASE("nvbandwidth: the buffer of the command line", "[unit][import]") {
  const std::string text = text_of_file(sample_path("nvbandwidth-h100.txt"));
  const auto size = [&](const std::string& command) {
    return imported_text("nvbandwidth", command + "\n" + text).points.front().size_B;
  };
  CHECK(size("$ ./nvbandwidth") == 536870912);
  CHECK(size("$ ./nvbandwidth -t device_to_device_memcpy_read_ce -b 64") == 67108864);
  CHECK(size("$ nvbandwidth --bufferSize=1024") == 1073741824);
  CHECK(size("$ ./nvbandwidth --help\n  -b [ --bufferSize ] arg (=512) Memcpy buffer size\n$ ./nvbandwidth -b 64") ==
        67108864);
  CHECK(
      size(
          "$ ./nvbandwidth -l\nnvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\nIndex, Name:\n\tDescription\n"
          "=======================\n0, host_to_device_memcpy_ce:\n\tHost to device CE memcpy\n$ ./nvbandwidth -b 64") ==
      67108864);
  CHECK(refused("nvbandwidth", "$ ./nvbandwidth -b 64\n$ ./nvbandwidth -b 128\n" + text)
            .find(":2: a command with other options than one above") != std::string::npos);
}

TEST_CASE("p2pBandwidthLatencyTest: options of the command line", "[unit][import]") {
  const std::string text = text_of_file(sample_path("p2p-a100-writes.txt"));
  const Measurement m =
      imported_text("p2pBandwidthLatencyTest", "$ ./p2pBandwidthLatencyTest --sm_copy --numElems=1000000\n" + text);
  CHECK(std::any_of(m.points.begin(), m.points.end(), [](const MeasuredPoint& p) { return p.engine == "sm"; }));
  CHECK(std::any_of(m.points.begin(), m.points.end(), [](const MeasuredPoint& p) { return p.size_B == 4e6; }));
  CHECK(has_note(m, "Kernels moved the data, as the command line says."));
}

TEST_CASE("osu: ranks of the command line are those of the options", "[unit][import]") {
  const auto refusal = [](const std::string& command, const Options& options) {
    return error_after("osu", "osu-allreduce.txt", "-np 8", command, options);
  };
  CHECK(refusal("-np 16 -N 8", {{"gpus", "8"}}).find("16 in the command line") != std::string::npos);
  CHECK(refusal("-np 16 -N 8", {{"gpus", "8"}, {"nodes", "2"}}) == "none");
  CHECK(refusal("-np 8", {{"gpus", "8"}}) == "none");
  const auto with = [](const std::string& command) {
    return error_after("osu", "osu-allreduce.txt", "mpirun -np 8", command, {{"gpus", "8"}});
  };
  for (const char* right : {"nice -n 10 mpirun -np 8", "mpirun -np 8 nice -n 10", "mpirun nice -n 10 -x A=1",
                            "ionice -c 2 -n 4 srun -n 8", "nice -5 /usr/bin/mpiexec.hydra -n 8", "watch -n 2",
                            "numactl -N 0 mpirun --np=8", "mpirun -np 8 numactl -n 1", "mpirun -np 8 chrt -n 1"}) {
    INFO(right);
    CHECK(with(right) == "none");
  }
  CHECK(with("srun -N 2 --ntasks-per-node=4") == "none");
  CHECK(with("srun -N 2 --ntasks-per-node 4 numactl -N 0") == "none");
  CHECK(with("mpirun -np 16 numactl -n 8").find("16 in the command line") != std::string::npos);
  for (const char* sixteen : {"srun -N 2 --ntasks-per-node=8", "srun --ntasks-per-node 8 -N2", "srun -n16"})
    CHECK(with(sixteen).find("16 in the command line") != std::string::npos);
  CHECK(with("nice -n 8 mpirun -np 10").find("10 in the command line") != std::string::npos);
  CHECK(with("nice --adjustment 8 flux run -n 10").find("10 in the command line") != std::string::npos);
}

TEST_CASE("figures that contradict each other are refused", "[unit][import]") {
  CHECK(error_after("nccl-tests", "nccl-all_reduce_perf-plain.txt", " 4194304       1048576", " 4194300       1048576")
            .find("size 4194300 is no multiple of count 1048576") != std::string::npos);
  CHECK(refused("nvbandwidth",
                "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
                "           0         1\n 0     55.31     5.25\n\nSUM host_to_device_memcpy_ce 110.56\n")
            .find("SUM is 110.56, the cells of host_to_device_memcpy_ce add up to 60.56") != std::string::npos);
}

}  // namespace linkcast::test::log_commands_test
