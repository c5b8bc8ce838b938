// check, list and replay with traces, by the real program.
#include "sim/base/object_reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/kineto_timeline.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::trace_command_test {

namespace {

const std::string kHeader =
    R"({"schema":"trace/1","name":"two","ranks":2,"source":"by hand","groups":{"all":[0,1],"one":[1]}})"
    "\n";

/// What check says of a trace with these events; FILE stands for its path.
std::string checked(const std::string& events) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "a.jsonl").string();
  std::ofstream(path) << kHeader << events;
  const Run run = run_program("check '" + path + "'");
  std::string said = run.code == 0 ? run.out : run.err;
  CHECK((run.code == 0 || run.code == 2));
  for (auto at = said.find(path); at != std::string::npos; at = said.find(path)) said.replace(at, path.size(), "FILE");
  return said;
}

}  // namespace

TEST_CASE("check reads traces, and looks at the whole of them", "[unit][trace]") {
  const auto reduce = [](int rank) {
    return R"({"rank":)" + std::to_string(rank) +
           R"(,"kind":"collective","op":"all_reduce","group":"all","size_B":8})" + "\n";
  };
  CHECK(checked(reduce(0) + reduce(1)) == "FILE: ok, trace/1 (2 events of 2 ranks)\n");
  CHECK(checked(reduce(0)) == "error: FILE: group 'all': rank 0 calls 1 collectives, rank 1 calls 0\n");
  CHECK(checked(R"({"rank":0,"kind":"collective","op":"all_reduce","group":"one","size_B":8})") ==
        "error: FILE line 2:/group: rank 0 is not in 'one'\n");
  CHECK(checked(R"({"rank":1,"kind":"collective","op":"allreduce","group":"one","size_B":8})")
            .rfind("error: FILE line 2:/op: 'allreduce' is no collective: one of all_gather, all_reduce", 0) == 0);
  CHECK(checked(R"({"rank":0,"kind":"send","peer":1,"size_B":8,"tag":"x"})") ==
        "error: FILE: rank 0 to rank 1 with tag 'x': 1 more sends than receives\n");
  CHECK(checked("\n"
                R"({"rank":0,"kind":"compute","time_s":-1})") == "error: FILE line 3:/time_s: must not be negative\n");
  CHECK(checked(R"({"rank":0,"kind":"compute","time_s":1,"extra":2})").find("FILE line 2:/extra: ") !=
        std::string::npos);
}

TEST_CASE("traces of one rank, of other ranks, and of steps that some ranks have not, are told", "[unit][trace]") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "a.jsonl").string();
  const auto write = [&](int ranks, const std::string& events) {
    std::ofstream(path) << R"({"schema":"trace/1","name":"t","source":"by hand","groups":{"all":)"
                        << (ranks == 1 ? "[0]" : "[0,1]") << R"(},"ranks":)" << ranks << "}\n"
                        << events;
  };
  const auto said = [&](const std::string& command) {
    const Run run = run_program(command);
    CHECK(run.code == 0);
    return run.err;
  };
  const std::string replay = "replay '" + path + "' --platform hgx-h200 ";
  const std::string call = R"("kind":"collective","op":"all_reduce","group":"all","size_B":8})";
  write(1, R"({"rank":0,)" + call + "\n");
  CHECK(said(replay) ==
        "warning: t is of one rank, whose collectives take no time alone: ranks=N replays it on N, all alike\n");
  CHECK(said(replay + "--ranks 2").find("of one rank") == std::string::npos);
  CHECK(said(replay + "--local").empty());
  write(2, R"({"rank":0,)" + call + "\n" + R"({"rank":1,)" + call + "\n");
  CHECK(said(replay).find("ranks") == std::string::npos);
  CHECK(said(replay + "--ranks 4").find("t is of 2 ranks and replayed on 4: each computes as long") !=
        std::string::npos);
  write(2, R"({"rank":0,"kind":"step"})"
           "\n");
  CHECK(said(replay) == "warning: t has 1 steps of rank 0 and 0 of rank 1: it may have been cut off\n");
  CHECK(said("check '" + path + "'") ==
        "warning: " + path + ": rank 1 has 0 steps and rank 0 1: it may have been cut off\n");
}

TEST_CASE("import refuses a file that is given twice", "[unit][trace]") {
  const std::string sample = test::data_dir() + "/tests/input/traces/flight-recorder-rank-0.json";
  const Run run = run_program("import flight-recorder '" + sample + "' '" + sample + "'");
  CHECK(run.code == 2);
  CHECK(run.err == "error: " + sample + ": is given twice\n");
}

TEST_CASE("shipped traces are listed, and replayed by name", "[unit][trace]") {
  const ScratchFolder scratch;
  const std::filesystem::path data = scratch / "data";
  std::filesystem::create_directories(data / "apps-traces" / "samples");
  for (const std::string folder : {"topologies", "models", "validate"})
    std::filesystem::create_directory_symlink(test::data_dir() + "/" + folder, data / folder);
  std::ofstream(data / "apps-traces" / "samples" / "mine.jsonl")
      << kHeader << R"({"rank":1,"kind":"compute","time_s":0.25})" << '\n';
  const std::string option = "--data-dir '" + data.string() + "' ";
  const Run list = run_program(option + "list traces --json");
  REQUIRE(list.code == 0);
  const Json traces = Json::parse(list.out)["traces"];
  CHECK(traces[0] == Json({{"name", "mine"}, {"summary", "2 ranks: two"}, {"source", "by hand"}}));
  CHECK(traces.size() > 1);  // applications
  const Run run = run_program(option + "replay mine --platform hgx-h200 --json");
  REQUIRE(run.code == 0);
  CHECK(Json::parse(run.out)["makespan_s"].get<double>() == 0.25);
  CHECK(run_program(option + "replay yours --platform hgx-h200")
            .err.rfind("error: trace: 'yours' is no file, no shipped trace and no application: one of mine, ", 0) == 0);
  CHECK(run_program(option + "replay mine --option x=1 --platform hgx-h200").err ==
        "error: --option: mine is no application: only those take options\n");
  CHECK(run_program(option + "replay data_parallel --option ranks=2 --platform hgx-h200").code == 0);
}

TEST_CASE("check and replay refuse sizes that no number of bytes has", "[unit][trace]") {
  for (const std::string size : {"1e99", "9007199254740994"})
    for (const std::string event :
         {R"("kind":"copy","copy":"h2d")", R"("kind":"collective","op":"all_reduce","group":"all")",
          R"("kind":"send","peer":1)"})
      CHECK(checked(R"({"rank":0,)" + event + R"(,"size_B":)" + size + "}") ==
            "error: FILE line 2:/size_B: must be at most 2^53\n");
}

TEST_CASE("wrong replays, imports and fits of traces", "[unit][trace]") {
  const std::string replay = "replay data_parallel --option ranks=4 --platform alps ";
  const std::vector<std::pair<std::string, std::string>> rows{
      {replay + "--utilisation", "--utilisation: needs --json: it is no table\n"},
      {replay + "--transport foo", "--transport: 'foo' is no kind of message: one of mpi_network, "},
      {replay + "--nodes 2 --gpus-per-node 2 --transport foo", "--transport: 'foo' is no kind of message: one of "},
      {replay + "--transport mpi_network", "--transport: is of messages between nodes, and needs --nodes\n"},
      {replay + "--nodes 0", "--nodes: must be 1 or more\n"},
      {replay + "--nodes 2 --gpus-per-node 0", "--gpus-per-node: must be 1 or more\n"},
      {replay + "--solver oracle", "unknown solver 'oracle'; known: fluid, fluid_simgrid, native\n"},
      {"whatif " + replay, "whatif needs at least one edit, e.g. --remove gpu0-gpu4\n"},
      {"whatif " + replay + "--slow gpu0:2 --timeline not-written.json", "--timeline: is of one run"},
      {"replay tests --platform alps", "tests: is a folder, not a file\n"},
      {"trace transformer --option recompute=2", "--option recompute: must be 0 or 1\n"},
      {"import kineto tests", "tests: is a folder: name the files in it\n"},
      {"import nccl-log tests/input/traces/nccl-log-rank0.txt --machine box", "--machine: nccl-log gives a trace, "},
      {"import goal tests/input/traces/goal.txt --topology alps", "--topology: goal gives a trace, "},
      {"calibrate trace h200x4-alexnet --platform hgx-h200 --local-step 5ms --out "
       "apps-traces/samples/h200x4-alexnet.jsonl",
       "--out: "},
      {"predict p2p --platform leonardo --src node0/gpu0 --dst node1/gpu0 --size 1MiB --noise 9223372036854775808",
       "--noise: '9223372036854775808' is no seed: a whole number from 0 to 2^63 - 1"}};
  for (const auto& [arguments, error] : rows) {
    INFO(arguments);
    const Run run = run_program(arguments);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(lines_of(run.err) == 1);
    CHECK(run.err.substr(0, 7 + error.size()) == "error: " + error);
  }
}

TEST_CASE("a what-if of a replay: before, after, change", "[unit][trace]") {
  const std::string replay = "replay data_parallel --option ranks=4 --platform p100-dgx1 ";
  const Run plain = run_program(replay + "--json"), edited = run_program(replay + "--remove gpu0-gpu1 --json");
  const Run both = run_program("whatif " + replay + "--remove gpu0-gpu1 --json");
  REQUIRE(both.code == 0);
  const Json result = Json::parse(both.out), after = Json::parse(edited.out);
  CHECK(result["before"] == Json::parse(plain.out));
  CHECK(result["after"] == after);
  for (const std::string key : {"makespan_s", "step_time_s"}) {
    CHECK(result["change"][key]["before"] == result["before"][key]);
    CHECK(result["change"][key]["after"] == after[key]);
  }
  const Run table = run_program("whatif " + replay + "--remove gpu0-gpu1");
  CHECK(table.code == 0);
  CHECK(table.out.find("\nmakespan ") != std::string::npos);
  CHECK(table.out.find("\nstep ") != std::string::npos);
}

TEST_CASE("calibrate trace takes a shipped trace by its name", "[unit][trace]") {
  const ScratchFolder scratch;
  const std::string out = (scratch / "fitted.jsonl").string();
  const Run run =
      run_program("calibrate trace h200x4-alexnet --platform hgx-h200 --local-step 4.75ms --out '" + out + "'");
  REQUIRE(run.code == 0);
  CHECK(run.err.find("host_scale ") != std::string::npos);  // behind progress, where it is slow
  CHECK(run_program("check '" + out + "'").code == 0);
}

TEST_CASE("import kineto fits the host so that the machine takes the step that was measured", "[unit][trace]") {
  Timeline timeline;  // 1 ms of CPU time a step, next to no GPU time
  for (int step = 0; step < 4; ++step) {
    timeline.span("ProfilerStep#" + std::to_string(step), 1000 * step, 1000 * step + 1000);
    timeline.kernel("a", 1000 * step + 490, 1000 * step + 500, 1000 * step + 501, 1000 * step + 502);
  }
  const ScratchFolder scratch;
  const std::string recording = (scratch / "r.json").string(), trace = (scratch / "t.jsonl").string();
  Json json = timeline.json();
  json["deviceProperties"] = {{{"name", "NVIDIA H200"}}};
  std::ofstream(recording) << json;
  const std::string import = "import kineto '" + recording + "' --out '" + trace + "' --option launch-cost=0s ";
  const auto scale_at = [&](const std::string& step) {
    REQUIRE(run_program(import + "--option step-time=" + step).code == 0);
    return Json::parse(text_of_file(trace).substr(0, text_of_file(trace).find('\n')));
  };
  // All but the first step, whose CPU time was not recorded whole, take 1 ms at scale 1.
  CHECK_THAT(scale_at("2.5ms")["host_scale"].get<double>(), WithinRel(2.5, 2e-3));
  CHECK(scale_at("2.5ms")["notes"].back() ==
        "host_scale: fitted so that a step on hgx-h200 takes the 2.5 ms that were measured without recording");
  CHECK_THAT(
      Json::parse(run_program("replay '" + trace + "' --platform hgx-h200 --json").out)["step_time_s"].get<double>(),
      WithinRel(2.5e-3, 2e-3));
  // No file but the one that is written: there need be no temporary folder.
  CHECK(run_command("TMPDIR='" + (scratch / "none").string() + "' '" + test::program() + "' " + import +
                    "--option step-time=2.5ms")
            .code == 0);
  // Less than the kernel alone takes: its 1 us and the launch.
  CHECK(scale_at("500ns")["notes"].back().get<std::string>().find("the CPUs are taken as never late") !=
        std::string::npos);
}

TEST_CASE("import kineto anchors on the machine that is named, whatever it calls its GPUs", "[unit][trace]") {
  const ScratchFolder scratch;
  const std::string recording = (scratch / "r.json").string(), trace = (scratch / "t.jsonl").string();
  const auto import = [&](const std::string& gpu, const std::string& options) {
    Timeline timeline;
    timeline.span("ProfilerStep#0", 0, 100);
    timeline.kernel("a", 49, 50, 51, 52);
    Json json = timeline.json();
    json["deviceProperties"] = {{{"name", gpu}}};
    std::ofstream(recording) << json;
    return run_program("import kineto '" + recording + "' --out '" + trace + "' " + options);
  };
  const std::string step = "--option step-time=1us ";
  const auto header = [&] { return text_of_file(trace).substr(0, text_of_file(trace).find('\n')); };
  CHECK(import("NVIDIA H100 80GB HBM3", step).code == 0);
  CHECK(header().find("GPUs and links of hgx-h100 alone take") != std::string::npos);
  const Run alike = import("NVIDIA GH200 480GB", step);
  CHECK(alike.code == 0);
  CHECK(header().find("since no other machine has them: recorded on NVIDIA GH200 480GB, and alps has NVIDIA GH200") !=
        std::string::npos);
  const Run several = import("NVIDIA A100-SXM4-40GB", step);
  CHECK(several.code == 2);
  CHECK(several.err.find("option step-time: several machines have NVIDIA A100-SXM4-40GB: abci-a100, dgx-a100: --option "
                         "machine=ID names") != std::string::npos);
  const Run none = import("NVIDIA H800 PCIe", step);
  CHECK(none.code == 2);
  CHECK(none.err.find("option step-time: no shipped machine has NVIDIA H800 PCIe: ") != std::string::npos);
  const Run named = import("NVIDIA GH200 480GB", step + "--option machine=alps");
  CHECK(named.code == 0);
  CHECK(named.err.find("option machine names it: recorded on NVIDIA GH200 480GB, and alps has ") != std::string::npos);
  CHECK(import("NVIDIA H200", step).err.find("names it") == std::string::npos);
  const Run edits = import("NVIDIA H200", "--option edits='disable p2p'");
  CHECK(edits.code == 2);
  CHECK(edits.err.find("option edits: is of the machine for step-time, which is not given") != std::string::npos);
}

TEST_CASE("import kineto takes what recording costs from a machine with the recorded GPU", "[unit][trace]") {
  const ScratchFolder scratch;
  const std::string recording = (scratch / "r.json").string();
  const auto said_of = [&](const std::string& gpu, const std::string& options = "") {
    Timeline timeline;
    timeline.kernel("a", 49, 50, 51, 52);
    Json json = timeline.json();
    json["deviceProperties"] = {{{"name", gpu}}};
    std::ofstream(recording) << json;
    const Run run =
        run_program(options + " import kineto '" + recording + "' --out '" + (scratch / "t.jsonl").string() + "'");
    REQUIRE(run.code == 0);
    return run.err;
  };
  const auto says = [](const std::string& said, const std::string& part) {
    return said.find(part) != std::string::npos;
  };
  const auto other = [](const std::string& gpu) {
    return "costs of recording: of hgx-h200, since no machine with " + gpu + " has them measured";
  };
  CHECK(says(said_of("NVIDIA H200"), "fitted for hgx-h200"));
  CHECK_FALSE(says(said_of("NVIDIA H200"), "costs of recording: of"));
  CHECK(says(said_of("NVIDIA H100 80GB HBM3"), "fitted for hgx-h100"));
  CHECK(says(said_of("NVIDIA A100-SXM4-40GB"), other("NVIDIA A100-SXM4-40GB")));
  // Those that a machine inherits are none of its own.
  const std::filesystem::path data = scratch / "data", params = data / "models" / "params";
  std::filesystem::create_directories(params);
  for (const std::string folder : {"topologies", "validate", "apps-traces"})
    std::filesystem::create_directory_symlink(test::data_dir() + "/" + folder, data / folder);
  for (const auto& entry : std::filesystem::directory_iterator(test::data_dir() + "/models"))
    if (entry.path().filename() != "params")
      std::filesystem::create_symlink(entry.path(), data / "models" / entry.path().filename());
  for (const auto& entry : std::filesystem::directory_iterator(test::data_dir() + "/models/params"))
    if (entry.path().filename() != "hgx-h100.json")
      std::filesystem::create_symlink(entry.path(), params / entry.path().filename());
  Json measured = Json::parse(text_of_file(test::data_dir() + "/models/params/hgx-h100.json"));
  const auto write = [&](const std::string& provenance) {
    for (const std::string what : {"call", "collective", "launch", "operator"})
      measured["parameters"]["recording." + what + "_s"] = {
          {"value", 7e-6}, {"stderr", 1e-6}, {"unit", "s"}, {"provenance", provenance}};
    std::ofstream(params / "hgx-h100.json") << measured;
    return "--data-dir '" + data.string() + "'";
  };
  const std::string own = said_of("NVIDIA H100 80GB HBM3", write("fitted"));
  CHECK(says(own, "7 us a launch, 7 us another call of CUDA"));
  CHECK(says(own, "fitted for hgx-h100"));
  CHECK_FALSE(says(own, "costs of recording: of"));
  CHECK(says(said_of("NVIDIA H200", write("fitted")), "fitted for hgx-h200"));
  CHECK(says(said_of("NVIDIA H100 80GB HBM3", write("inherited:hgx-h200")), other("NVIDIA H100 80GB HBM3")));
}

TEST_CASE("import kineto names the recording where its trace is wrong", "[unit][trace]") {
  Json described = Timeline::all_reduce(8);
  described["Process Group Ranks"] = "[0, 99]";
  Timeline timeline;
  timeline.op(1);
  timeline.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 20, 25, 30, 40, described);
  const ScratchFolder scratch;
  const std::string recording = (scratch / "r.json").string();
  std::ofstream(recording) << timeline.text();
  const Run run = run_program("import kineto '" + recording + "' --out '" + (scratch / "t.jsonl").string() + "'");
  CHECK(run.code == 2);
  CHECK(run.err.find("error: trace of " + recording + " line 1:/groups/0: must be ranks") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(scratch / "t.jsonl"));
}

TEST_CASE("check reads traces that gzip packed", "[unit][trace]") {
  const ScratchFolder scratch;
  const std::string packed = (scratch / "t.jsonl.gz").string();
  REQUIRE(run_command("gzip -c apps-traces/samples/h200x4-alexnet.jsonl > '" + packed + "'").code == 0);
  CHECK(run_program("check '" + packed + "'").out == packed + ": ok, trace/1 (" + [] {
    const Run plain = run_program("check apps-traces/samples/h200x4-alexnet.jsonl");
    return plain.out.substr(plain.out.find('(') + 1);
  }());
  REQUIRE(run_command("head -c 5000 '" + packed + "' > '" + packed + ".jsonl'").code == 0);
  const Run cut = run_program("check '" + packed + ".jsonl'");
  CHECK(cut.code == 2);
  CHECK(cut.err.find("gzip data that end too early") != std::string::npos);
}

}  // namespace linkcast::test::trace_command_test
