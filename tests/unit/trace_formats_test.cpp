// Importers of traces that hold what a program did, but no time of its network. Figures are worked out by hand.
#include "tests/unit/trace_import.hpp"

namespace linkcast::test::trace_formats_test {

using Ids = std::vector<std::int64_t>;

namespace {

double makespan_s(const std::string& goal) {
  const ScratchFolder scratch;
  const std::string file = (scratch / "a.goal").string(), trace = (scratch / "a.jsonl").string();
  std::ofstream(file) << goal;
  REQUIRE(run_program("import goal '" + file + "' --out '" + trace + "'").code == 0);
  const Run run = run_program("replay '" + trace + "' --platform hgx-h200 --json");
  REQUIRE(run.code == 0);
  return Json::parse(run.out)["makespan_s"].get<double>();
}

}  // namespace

TEST_CASE("GOAL: labels, sizes, tags and dependencies", "[unit][trace_import]") {
  const auto trace = imported_trace("goal", {trace_sample("goal.txt")});
  CHECK(trace->head.ranks == 2);
  CHECK(trace->head.eager_B == 65535);
  CHECK(trace->notes("one unit of calc is 1 ns (assumed)"));
  const auto mine = trace->of(0);
  REQUIRE(mine.size() == 5);
  CHECK(mine[0].kind == TraceKind::kCompute);
  CHECK(mine[0].time_s == Approx(100e-9));
  CHECK(mine[1].kind == TraceKind::kSend);
  CHECK(mine[1].size_B == 10);
  CHECK(mine[1].peer == 1);
  CHECK(mine[1].tag == "3");
  CHECK(mine[1].after == Ids{1});
  CHECK(mine[2].kind == TraceKind::kRecv);
  CHECK(mine[2].tag.empty());
  CHECK(mine[2].stream != mine[1].stream);  // neither requires the other
  CHECK(mine[3].stream != mine[0].stream);
  // l5 requires l4 and may start when l2 has started, which waits for l1: behind l1 on its stream, after l4.
  CHECK(mine[4].stream == mine[0].stream);
  CHECK(mine[4].after == Ids{4});
  const auto other = trace->of(1);
  REQUIRE(other.size() == 2);
  CHECK(other[0].stream == other[1].stream);
  CHECK(other[1].after.empty());
}

TEST_CASE("GOAL: options, comments and operations before what they require", "[unit][trace_import]") {
  const auto trace =
      trace_of("goal", "num_ranks 1 // one\nrank 0 {a: calc 2 b: /* first */ calc 3 calc 4\n a requires b}",
               {{"unit", "1us"}, {"eager", "0"}});
  CHECK(trace->head.eager_B == 0);
  REQUIRE(trace->events.size() == 3);
  CHECK(trace->events[0].name == "b");
  CHECK(trace->events[0].time_s == Approx(3e-6));
  CHECK(trace->events[1].name == "a");
  CHECK(trace->events[1].stream == trace->events[0].stream);
  CHECK(trace->events[2].name.empty());
  CHECK(trace->events[2].stream != trace->events[0].stream);
}

TEST_CASE("GOAL: streams are reused, so that a long program has few", "[unit][trace_import]") {
  std::string text = "num_ranks 2\nrank 0 {\n";
  for (int step = 0; step < 100; ++step) {
    const std::string n = std::to_string(step), before = std::to_string(step - 1);
    text += "c" + n + ": calc 10\ns" + n + ": send 8b to 1\ns" + n + " requires c" + n + "\n";
    if (step > 0) text += "c" + n + " requires c" + before + "\nc" + n + " requires s" + before + "\n";
  }
  const auto trace = trace_of("goal", text + "}\nrank 1 { }\n");
  std::set<std::string> streams;
  for (const TraceEvent& event : trace->events) streams.insert(event.stream);
  CHECK(streams == std::set<std::string>{"cpu0", "nic0"});
}

TEST_CASE("GOAL: what requires nothing overlaps in the replay", "[unit][trace_import]") {
  const std::string send = "num_ranks 2 rank 0 { s: send 1000000b to 1 ";
  const std::string rest = "} rank 1 { recv 1000000b from 0 }";
  const double alone_s = makespan_s(send + rest);
  CHECK(alone_s < 1e-3);
  CHECK(makespan_s(send + "c: calc 1000000 " + rest) == Approx(1e-3));
  CHECK(makespan_s(send + "c: calc 1000000 s requires c " + rest) == Approx(1e-3 + alone_s));
  CHECK(makespan_s(send + "c: calc 1000000 c requires s " + rest) == Approx(1e-3 + alone_s));
  CHECK(makespan_s(send + "c: calc 1000000 c irequires s " + rest) == Approx(1e-3));
}

TEST_CASE("GOAL: what is refused", "[unit][trace_import][bad_input]") {
  const auto error = [](const std::string& text) { return trace_error("goal", text); };
  CHECK(error("") == "FILE line 0: 'num_ranks' is expected here, not the end of the file");
  CHECK(error("num_ranks 0") == "FILE line 1: '0' is not the number of ranks: a whole number from 1 to 1000000");
  CHECK(error("num_ranks 2\nrank 2 { }") == "FILE line 2: '2' is not a rank: a whole number from 0 to 1");
  CHECK(error("num_ranks 2\nrank 0 { } rank 0 { }") == "FILE line 2: rank 0 is there twice");
  CHECK(error("num_ranks 1\nrank 0 {\n l: calc x") == "FILE line 3: 'x' is no time: a number of at least 0");
  CHECK(error("num_ranks 1\nrank 0 {\n l: exec 1") == "FILE line 3: 'exec' is no operation: calc, send or recv");
  CHECK(error("num_ranks 1\nrank 0 {\n l: calc 1") == "FILE line 3: the rank's block does not end: '}' is missing");
  CHECK(error("num_ranks 1\nrank 0 {\n send 1k to 0") == "FILE line 3: '1k' is no size: bytes, e.g. 10b");
  CHECK(error("num_ranks 1\nrank 0 {\n l: calc 1\n l: calc 2 }") == "FILE line 4: label 'l' is there twice");
  CHECK(error("num_ranks 1\nrank 0 {\n l: calc 1\n l requires m }") ==
        "FILE line 4: no operation before this line has the label 'm'");
  CHECK(error("num_ranks 1\nrank 0 {\n l: calc 1\n m: calc 1\n l requires m\n m requires l }") ==
        "FILE line 3: operation 'l' of rank 0 waits for itself through what it requires");
  CHECK(error("num_ranks 1 /* never") == "FILE line 1: the comment does not end");
}

TEST_CASE("time-independent traces: every call that SMPI records", "[unit][trace_import]") {
  const auto trace = imported_trace("simgrid-ti", {trace_sample("ti.txt")}, {{"flops-per-second", "1e9"}});
  CHECK(trace->head.ranks == 4);
  CHECK(trace->head.groups.at("world") == std::vector<int>{0, 1, 2, 3});
  CHECK(trace->notes("assumed: a barrier is an all_reduce of 4 bytes"));
  const auto mine = trace->of(0);
  const auto sizes = [&](const std::string& name) {
    std::vector<double> all;
    for (const TraceEvent& event : mine)
      if (event.name == name && event.kind == TraceKind::kCollective) all.push_back(event.size_B);
    return all;
  };
  CHECK(mine[0].time_s == Approx(1e-3));                   // a million flops
  CHECK(sizes("bcast") == std::vector<double>{8000});      // 1000 doubles
  CHECK(sizes("allreduce") == std::vector<double>{2000});  // 500 floats
  CHECK(sizes("reduce") == std::vector<double>{400});      // 100 ints
  CHECK(sizes("alltoall") == std::vector<double>{320});    // 10 doubles from each of 4
  CHECK(sizes("allgather") == std::vector<double>{320});
  CHECK(sizes("gather") == std::vector<double>{320});
  CHECK(sizes("scatter") == std::vector<double>{320});
  CHECK(sizes("allgatherv") == std::vector<double>{800});  // 10 + 20 + 30 + 40 doubles
  CHECK(sizes("reducescatter") == std::vector<double>{800});
  const auto messages = [&](TraceKind kind, const std::string& tag) {
    std::vector<std::pair<int, double>> all;
    for (const TraceEvent& event : mine)
      if (event.kind == kind && event.tag == tag) all.emplace_back(event.peer, event.size_B);
    return all;
  };
  using Messages = std::vector<std::pair<int, double>>;
  CHECK(messages(TraceKind::kRecv, "gatherv") == Messages{{1, 160}, {2, 240}, {3, 320}});
  CHECK(messages(TraceKind::kSend, "scatterv") == Messages{{1, 160}, {2, 240}, {3, 320}});
  CHECK(messages(TraceKind::kSend, "alltoallv") == Messages{{1, 8}, {2, 16}, {3, 24}});
  CHECK(messages(TraceKind::kRecv, "alltoallv") == Messages{{1, 80}, {2, 160}, {3, 240}});
  CHECK(messages(TraceKind::kSend, "7") == Messages{{1, 160000}});
  CHECK(messages(TraceKind::kSend, "8") == Messages{{1, 100}});
  CHECK(messages(TraceKind::kSend, "sendrecv") == Messages{{1, 80}});
  CHECK(messages(TraceKind::kRecv, "sendrecv") == Messages{{3, 80}});
}

TEST_CASE("time-independent traces: requests run beside what follows until they are waited for",
          "[unit][trace_import]") {
  const auto trace = trace_of("simgrid-ti",
                              "0 init\n0 compute 5\n0 isend 1 7 100 6\n0 compute 10\n0 wait 0 1 7\n0 isend 1 8 100 6\n"
                              "1 init\n1 irecv 0 7 100 6\n1 irecv 0 8 100 6\n1 waitall 2\n1 finalize\n0 waitall 1\n",
                              {{"flops-per-second", "10"}});
  const auto sender = trace->of(0);
  REQUIRE(sender.size() == 6);
  CHECK(sender[1].kind == TraceKind::kSend);
  CHECK(sender[1].stream != "0");
  CHECK(sender[1].after == Ids{*sender[0].id});
  CHECK(sender[2].stream == "0");
  CHECK(sender[2].time_s == Approx(1));
  CHECK(sender[2].after.empty());                // beside the message
  CHECK(sender[3].after == Ids{*sender[1].id});  // the wait
  CHECK(sender[3].time_s == 0);
  CHECK(sender[4].stream == sender[1].stream);
  CHECK(sender[4].after == Ids{*sender[3].id});
  CHECK(sender[5].after == Ids{*sender[4].id});
  const auto receiver = trace->of(1);
  REQUIRE(receiver.size() == 3);
  CHECK(receiver[0].stream != receiver[1].stream);
  CHECK(receiver[2].after == Ids{*receiver[0].id, *receiver[1].id});
}

TEST_CASE("time-independent traces are replayed whole", "[unit][trace_import]") {
  const ScratchFolder scratch;
  const std::string trace = (scratch / "ti.jsonl").string();
  REQUIRE(run_program("import simgrid-ti '" + trace_sample("ti.txt") + "' --option flops-per-second=1e9 --out '" +
                      trace + "'")
              .code == 0);
  CHECK(run_program("check '" + trace + "'").code == 0);
  const Run run = run_program("replay '" + trace + "' --platform hgx-h200 --json");
  REQUIRE(run.code == 0);
  const Json result = Json::parse(run.out);
  for (int rank = 0; rank < 4; ++rank)  // rank r computes r + 1 million flops
    CHECK(result["ranks"][static_cast<std::size_t>(rank)]["compute_s"].get<double>() == Approx((rank + 1) * 1e-3));
}

TEST_CASE("time-independent traces: what is refused", "[unit][trace_import][bad_input]") {
  const auto error = [](const std::string& text) { return trace_error("simgrid-ti", text); };
  CHECK(error("") == "FILE: holds no action");
  CHECK(error("0 init\n0 compute 5\n") ==
        "FILE line 2: compute: needs option flops-per-second=..., what one rank computes");
  CHECK(error("0 init\n2 init\n") == "FILE: no action of rank 1, but of rank 2: is a file missing?");
  CHECK(error("0 fly 5\n") == "FILE line 1: action 'fly' is not known to this importer");
  CHECK(error("0 send 1 0 5\n1 init\n0 send 2 0 5\n") == "FILE line 3: send: rank 2 is not one of 0 to 1");
  CHECK(error("0 recv -1 0 5\n") ==
        "FILE line 1: recv: rank -1 is not one of 0 to 0; a receive from any rank cannot be replayed");
  CHECK(error("0 bcast 5 0 99\n") == "FILE line 1: bcast: datatype 99 is not known: 0 to 14");
  CHECK(error("0 allreduce 5\n") == "FILE line 1: allreduce: takes count and flops, here are 1 parameters");
  CHECK(error("rank-0.txt\n") == "FILE line 1: file 'rank-0.txt' is not there");
  CHECK(trace_error("simgrid-ti", "0 init\n", {{"flops-per-second", "0"}}) ==
        "option flops-per-second: must be above 0");
}

TEST_CASE("NCCL logs: calls by communicator and stream, with the sizes of nccl-tests", "[unit][trace_import]") {
  const auto trace =
      imported_trace("nccl-log", {trace_sample("nccl-log-rank1.txt"), trace_sample("nccl-log-rank0.txt")});
  CHECK(trace->head.ranks == 2);
  CHECK(trace->head.groups == std::map<std::string, std::vector<int>>{{"comm 1", {0, 1}}, {"world", {0, 1}}});
  const auto mine = trace->of(0);
  REQUIRE(mine.size() == 24);
  constexpr double kElements = 1 << 20;
  const std::vector<std::pair<std::string, double>> calls{
      {"all_reduce", 4 * kElements},     {"broadcast", 4 * kElements},      {"reduce", 4 * kElements},
      {"all_gather", 4 * 2 * kElements}, {"reduce_scatter", 8 * kElements}, {"alltoall", 4 * kElements},
      {"all_reduce", 2 * kElements}};  // the last of half precision
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CHECK(mine[i].op == calls[i].first);
    CHECK(mine[i].size_B == calls[i].second);
    CHECK(mine[i].group == (i + 1 < calls.size() ? "world" : "comm 1"));
  }
  CHECK(mine[7].kind == TraceKind::kSend);
  CHECK(mine[7].peer == 1);
  CHECK(mine[9].kind == TraceKind::kSend);  // and a receive in one group: both at once
  CHECK(mine[10].kind == TraceKind::kRecv);
  CHECK(mine[10].stream != mine[9].stream);
  CHECK(mine[10].after == Ids{*mine[7].id});
  CHECK(mine[19].kind == TraceKind::kSend);  // the next on that stream waits for both
  CHECK(mine[19].after == Ids{*mine[10].id});
  CHECK(trace->of(1)[7].kind == TraceKind::kRecv);
}

TEST_CASE("NCCL logs: one process with two GPUs, gaps, and time stamps", "[unit][trace_import]") {
  const auto two = imported_trace("nccl-log", {trace_sample("nccl-log-one-process.txt")}, {{"gap", "2ms"}});
  CHECK(two->head.ranks == 2);
  for (const int rank : {0, 1}) {
    const auto mine = two->of(rank);
    REQUIRE(mine.size() == 4);
    CHECK(mine[0].time_s == Approx(2e-3));
    CHECK(mine[1].size_B == 4000);
    CHECK(mine[1].stream == mine[0].stream);
  }
  const std::string line = " box:1:1 [0] NCCL INFO ";
  const std::string call =
      "AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 8 datatype 9 op 0 root 0 comm 0xa "
      "[nranks=2] stream 0x5\n";
  std::string log;
  for (const std::string rank : {"0", "1"})
    log += "box:1:1 [" + rank + "] NCCL INFO ncclCommInitAll comm 0x" + (rank == "0" ? "a" : "b") + " rank " + rank +
           " nranks 2 cudaDev " + rank + " commId 0x9 - Init START\n";
  log += "[2026-11-21 23:59:59.75]" + line + call + "[2026-11-22 00:00:01.5]" + line + call;
  const auto stamped = trace_of("nccl-log", log, {{"host", "stamps"}});
  REQUIRE(stamped->events.size() == 2);
  CHECK(stamped->events[0].size_B == 16);  // bfloat16
  CHECK(stamped->events[0].host_s == 0);
  CHECK(stamped->events[1].host_s == Approx(1.75));
}

TEST_CASE("NCCL logs: what is refused", "[unit][trace_import][bad_input]") {
  CHECK(trace_error("nccl-log", "hello\n") == "FILE: no line of NCCL INFO: is it a log of NCCL_DEBUG=INFO?");
  CHECK(trace_error("nccl-log", "a:1:1 [0] NCCL INFO hello\n") ==
        "FILE: no communicator is set up in it: NCCL_DEBUG_SUBSYS=INIT,COLL prints them");
  const std::string one = text_of_file(trace_sample("nccl-log-rank0.txt"));
  CHECK(trace_error("nccl-log", one) ==
        "a communicator has 2 ranks, but there is no log of rank 1 of it: give the logs of all ranks");
  const auto changed = [](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::string two = text_of_file(trace_sample("nccl-log-one-process.txt"));
  CHECK(trace_error("nccl-log", changed(two, "AllReduce:", "AllBroadcast:")) ==
        "FILE line 5: call 'AllBroadcast:' is not known to this importer");
  CHECK(trace_error("nccl-log", changed(two, "datatype 7", "datatype 17")) ==
        "FILE line 5: datatype '17' is not a whole number of 0 to 11");
  CHECK(trace_error("nccl-log", changed(two, "root 0 comm 0x16dc9530", "root 0 comm 0x1")) ==
        "FILE line 5: communicator '0x1' was not set up in the log: it needs NCCL_DEBUG=INFO and "
        "NCCL_DEBUG_SUBSYS=INIT,COLL from the start");
  CHECK(trace_error("nccl-log", two, {{"host", "stamps"}}) == "FILE line 5: host=stamps: the line has no time stamp");
}

TEST_CASE("broken traces of other tools are taken or refused, never a crash", "[unit][trace_import][bad_input]") {
  check_mutations("goal", text_of_file(trace_sample("goal.txt")), 1500);
  check_mutations("simgrid-ti", text_of_file(trace_sample("ti-merged.txt")), 1500, {{"flops-per-second", "1e9"}});
  check_mutations("nccl-log", text_of_file(trace_sample("nccl-log-one-process.txt")), 1000);
  check_mutations("nccl-log", text_of_file(trace_sample("nccl-log-stamped.txt")), 500);
}

TEST_CASE("kineto: work is part of an exchange if some span of its thread holds its launch", "[unit][trace]") {
  Json events = Json::array();
  const auto add = [&](const char* category, const std::string& name, int thread, double from, double to, int id) {
    events.push_back({{"ph", "X"},
                      {"cat", category},
                      {"name", name},
                      {"tid", thread},
                      {"ts", from},
                      {"dur", to - from},
                      {"args", {{"correlation", id}, {"stream", 7}}}});
  };
  const std::string exchange = "torch.distributed.ddp.reducer::copy_bucket_to_grad";
  // Disjoint, one in the other, and two that begin together; the last one added is the first.
  for (const auto& [from, to] :
       std::vector<std::pair<double, double>>{{300, 400}, {310, 320}, {300, 305}, {500, 501}, {100, 200}})
    add("cpu_op", exchange, 1, from, to, 0);
  struct Launch {
    int thread;
    double from, to;
    bool inside;
  };
  const std::vector<Launch> launches{{1, 50, 60, false},   {1, 100, 101, true},   {1, 199, 200, true},
                                     {1, 199, 201, false}, {1, 250, 251, false},  {1, 302, 303, true},
                                     {1, 312, 313, true},  {1, 330, 331, true},   {2, 332, 333, false},
                                     {1, 450, 451, false}, {1, 500.5, 502, false}};
  int id = 0;
  for (const Launch& launch : launches) {
    add("cuda_runtime", "cudaLaunchKernel", launch.thread, launch.from, launch.to, ++id);
    add("kernel", "work" + std::to_string(id), 7, 1000 + 10 * id, 1001 + 10 * id, id);
  }
  const auto trace = trace_of("kineto", Json{{"traceEvents", events}}.dump());
  int found = 0;
  for (const TraceEvent& event : trace->events) {
    if (event.name.rfind("work", 0) != 0) continue;
    ++found;
    INFO(event.name);
    CHECK((event.part == "exchange") == launches.at(std::stoul(event.name.substr(4)) - 1).inside);
  }
  CHECK(found == static_cast<int>(launches.size()));
}

}  // namespace linkcast::test::trace_formats_test
