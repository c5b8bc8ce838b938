// Recordings of torch.profiler: what is refused, where steps end, and what the recording itself took.
#include "tests/support/catch.hpp"
#include "tests/unit/kineto_timeline.hpp"

namespace linkcast::test::kineto_test {

namespace {

std::vector<double> host_us(const Kept& trace) {
  std::vector<double> found;
  for (const TraceEvent& event : trace.events)
    if (event.kind == TraceKind::kCompute) found.push_back(event.host_s * 1e6);
  return found;
}

int steps_of(const Kept& trace) {
  return static_cast<int>(std::count_if(trace.events.begin(), trace.events.end(),
                                        [](const TraceEvent& event) { return event.kind == TraceKind::kStep; }));
}

}  // namespace

TEST_CASE("kineto: NCCL's kernels that nothing describes are refused, with what to do", "[unit][trace]") {
  Timeline timeline;
  timeline.kernel("first", 0, 5, 10, 20);
  timeline.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 20, 25, 30, 40);
  CHECK(trace_error("kineto", timeline.text()) ==
        "FILE: holds CUDA activities alone, in which NCCL's kernels have no operation, size and group: record CPU "
        "activities too, or both with 'linkcast record'");
  timeline.op(1);
  CHECK(trace_error("kineto", timeline.text()) ==
        "FILE:/traceEvents/3: args: an NCCL kernel without 'Collective name': this PyTorch does not record it");
}

TEST_CASE("kineto: a GPU's own work needs no operators", "[unit][trace]") {
  Timeline timeline;
  timeline.kernel("first", 0, 5, 10, 20);
  const auto trace = trace_of("kineto", timeline.text());
  CHECK(trace->events.size() == 2);
  CHECK(steps_of(*trace) == 1);
  CHECK(trace->head.notes.back().rfind("assumed: the recording is one step", 0) == 0);
}

TEST_CASE("kineto: amounts that are none are refused, with their event", "[unit][trace]") {
  for (const Json& wrong : {Json(nullptr), Json("x"), Json(-1), Json::array(), Json(true)}) {
    Json described = Timeline::all_reduce(8);
    described["In msg nelems"] = wrong;
    Timeline timeline;
    timeline.op(1);
    timeline.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 20, 25, 30, 40, described);
    CHECK(trace_error("kineto", timeline.text(0, 2)) ==
          "FILE:/traceEvents/2: args: 'In msg nelems' must be a number of at least 0");
    Timeline copies;
    copies.call("cudaMemcpyAsync", 0, 5);
    copies.add("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, 10, 20,
               {{"correlation", 1}, {"stream", 7}, {"bytes", wrong}});
    CHECK(trace_error("kineto", copies.text()) == "FILE:/traceEvents/1: args: 'bytes' must be a number of at least 0");
  }
}

TEST_CASE("kineto: whole numbers that are none, or too large, are refused", "[unit][trace]") {
  const auto error = [](const char* key, const Json& value) {
    Json described = Timeline::all_reduce(8);
    described.update({{"Collective name", "send"}, {"Dst Rank", 1}});
    described[key] = value;
    Timeline timeline;
    timeline.op(1);
    timeline.kernel("ncclDevKernel_SendRecv(x)", 20, 25, 30, 40, described);
    return trace_error("kineto", timeline.text(0, 1));
  };
  for (const Json& wrong : {Json(1LL << 40), Json(0.5), Json("1")})
    CHECK(error("Dst Rank", wrong) == "FILE:/traceEvents/2: args: a collective needs a whole number 'Dst Rank'");
  CHECK(error("Process Group Ranks", "[0, 4294967297]").find("does not name as many ranks") != std::string::npos);
  Timeline sizeless;
  sizeless.op(1);
  Json described = Timeline::all_reduce(8);
  for (const char* key : {"In msg nelems", "Out msg nelems"}) described.erase(key);
  sizeless.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 20, 25, 30, 40, described);
  CHECK(trace_error("kineto", sizeless.text()) ==
        "FILE:/traceEvents/2: args: a collective needs 'In msg nelems' or 'Out msg nelems'");
}

TEST_CASE("kineto: one file of each rank is needed, and steps that are left", "[unit][trace]") {
  Timeline timeline;
  timeline.kernel("a", 0, 5, 10, 20);
  const ScratchFolder scratch;
  const std::string folder = (scratch / "").string();
  const auto written = [&](const std::vector<int>& ranks, int all) {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      paths.push_back((scratch / std::to_string(i)).string());
      std::ofstream(paths.back()) << timeline.text(ranks[i], all);
    }
    return paths;
  };
  const auto imported = [&](const std::vector<int>& ranks) { return imported_trace("kineto", written(ranks, 2)); };
  const auto error = [&](const std::vector<int>& ranks, int all) {
    try {
      imported_trace("kineto", written(ranks, all));
    } catch (const InputError& refused) {
      return std::string(refused.what()).substr(folder.size());
    }
    return std::string("none");
  };
  CHECK(error({0, 1}, 2) == "none");
  CHECK(imported({0, 1})->notes("the recording has no collective"));
  CHECK(error({0, 1}, 3) == "0: is rank 0 of 3, and 2 files are given: one of each rank is needed");
  CHECK(error({0, 0}, 2) == "1: is rank 0 of 2, which another file is too");
  CHECK(error({0, 5}, 2) == "1: is rank 5 of 2, and no file is rank 1");
  CHECK(error({0, -1}, 2) == "1: is rank -1 of 2, and no file is rank 0");
  CHECK(trace_error("kineto", timeline.text(), {{"skip", "1"}}) == "option skip: 1 leaves none of the 1 steps of FILE");
}

TEST_CASE("kineto: the profiler's marks end steps, and what it does between them is no CPU time", "[unit][trace]") {
  Timeline timeline;
  for (int step = 0; step < 3; ++step) {
    const double at = 1000 * step;
    timeline.span("ProfilerStep#" + std::to_string(step + 1), at, at + 400);
    timeline.kernel("a", at + 100, at + 110, at + 120, at + 130);
    timeline.kernel("b", at + 200, at + 210, at + 220, at + 230);
  }
  const auto trace = trace_of("kineto", timeline.text());
  CHECK(steps_of(*trace) == 3);
  // From b's launch at 210 to a's next one at 1110 pass 900, 600 of them between the marks.
  const std::vector<double> host = host_us(*trace);
  REQUIRE(host.size() == 6);
  for (const std::size_t a : {2U, 4U}) CHECK_THAT(host[a], WithinAbs(300, 1e-6));
  for (const std::size_t b : {1U, 3U, 5U}) CHECK_THAT(host[b], WithinAbs(100, 1e-6));
}

TEST_CASE("kineto: CPU time before a wait and after it counts once", "[unit][trace]") {
  Timeline timeline;
  timeline.kernel("a", 90, 100, 120, 400);
  timeline.call("cudaDeviceSynchronize", 150, 400);
  timeline.kernel("b", 440, 450, 460, 470);
  const auto trace = trace_of("kineto", timeline.text());
  REQUIRE(trace->events.size() == 4);
  CHECK(trace->events[1].kind == TraceKind::kSync);
  CHECK_THAT(trace->events[1].host_s, WithinAbs(50e-6, 1e-12));
  CHECK_THAT(trace->events[2].host_s, WithinAbs(50e-6, 1e-12));
}

TEST_CASE("kineto: what recording cost is taken out of the CPU times, and kept", "[unit][trace]") {
  Timeline timeline;
  for (int step = 0; step < 2; ++step) {
    const double at = 1000 * step;
    timeline.span("ProfilerStep#" + std::to_string(step), at, at + 999);
    timeline.kernel("a", at + 90, at + 100, at + 120, at + 130);
    timeline.op(at + 110);
    timeline.op(at + 111, "record_param_comms");
    timeline.call("cudaEventRecord", at + 120, at + 125);
    timeline.call("cudaEventQuery", at + 130, at + 131, 99);  // of a thread that launches nothing
    timeline.kernel("b", at + 190, at + 200, at + 220, at + 230);
    timeline.kernel("c", at + 200, at + 201, at + 240, at + 250);
  }
  const Options costs{
      {"launch-cost", "5us"}, {"call-cost", "1us"}, {"operator-cost", "2us"}, {"collective-cost", "20us"}};
  const auto trace = trace_of("kineto", timeline.text(), costs);
  const std::vector<double> host = host_us(*trace);
  REQUIRE(host.size() == 6);
  // 100 us from a's launch to b's: two operators, one of them a collective's, a call and the launch
  CHECK_THAT(host[1], WithinAbs(100 - 2 * 2 - 20 - 1 - 5, 1e-6));
  CHECK_THAT(host[2], WithinAbs(0, 1e-6));            // 1 us that recording alone can explain
  CHECK_THAT(host[3], WithinAbs(899 - 5 - 1, 1e-6));  // 1 us of the 900 is between the marks
  std::vector<double> recording;
  for (const TraceEvent& event : trace->events)
    if (event.kind == TraceKind::kCompute) recording.push_back(event.recording_s * 1e6);
  CHECK_THAT(recording[1], WithinAbs(30, 1e-6));
  CHECK_THAT(recording[2], WithinAbs(1, 1e-6));
  CHECK(
      trace->notes("less what recording costs the CPU (5 us a launch, 1 us another call of CUDA, 2 us an operator, 20 "
                   "us a collective)"));
  Timeline one;
  one.kernel("a", 0, 5, 10, 20);
  CHECK(trace_of("kineto", one.text(), costs)->notes("recording_s is what was recorded beyond it, 0 % of all"));
}

TEST_CASE("kineto: what kernels of all_reduce show of NVLS, or an option says", "[unit][trace]") {
  const auto head = [](const std::string& kernel, int threads, int ranks, const Options& options = {}) {
    Timeline timeline;
    Json args = Timeline::all_reduce(1e6);
    args["Group size"] = ranks;
    args["Process Group Ranks"] = ranks == 2 ? "[0, 1]" : "[0, 1, 2, 3]";
    args["block"] = {threads, 1, 1};
    timeline.kernel(kernel, 0, 5, 10, 20, args);
    timeline.op(1);
    return trace_of("kineto", timeline.text(), options)->head;
  };
  const std::string ring = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)",
                    nvls = "ncclDevKernel_AllReduce_NVLS_SIMPLE(x)";
  CHECK(head(nvls, 640, 4).nvls == true);
  CHECK(head(ring, 544, 4).nvls == false);  // fewer threads than NVLS takes
  CHECK_FALSE(head(ring, 640, 4).nvls.has_value());
  CHECK_FALSE(head(ring, 544, 2).nvls.has_value());  // of two GPUs there is no NVLS
  const auto says = [](const TraceHeader& one) {
    return std::any_of(one.notes.begin(), one.notes.end(),
                       [](const std::string& note) { return note.find("(NVLS) does not show") != std::string::npos; });
  };
  CHECK(says(head(ring, 640, 4)));
  CHECK_FALSE(says(head(ring, 544, 4)));
  CHECK(head(ring, 640, 4, {{"nvls", "on"}}).nvls == true);
  CHECK(to_json(head(ring, 640, 4, {{"nvls", "off"}}))["nvls"] == false);
}

TEST_CASE("kineto: an execution trace recorded at the same time is told", "[unit][trace]") {
  Timeline timeline;
  timeline.kernel("a", 0, 5, 10, 20);
  timeline.add("cpu_op", "aten::add", 1, 1, 2, {{"Record function id", 0}});
  CHECK_FALSE(trace_of("kineto", timeline.text())->notes("execution trace"));
  timeline.add("cpu_op", "aten::add", 1, 3, 4, {{"Record function id", 7}});
  CHECK(trace_of("kineto", timeline.text())->notes("execution trace"));
}

TEST_CASE("kineto: a step without the profiler is said once", "[unit][trace]") {
  Timeline timeline;
  timeline.kernel("a", 0, 5, 10, 20);
  CHECK(trace_of("kineto", timeline.text(), {{"step-time", "3ms"}})->head.step_time_s == 3e-3);
  CHECK(trace_error("kineto", timeline.text(), {{"step-time", "3ms"}, {"host-scale", "1"}}) ==
        "option host-scale: step-time fits it: give one of them");
  CHECK(trace_error("kineto", timeline.text(), {{"step-time", "0s"}}) == "option step-time: must be above 0");
}

namespace {

/// A step of one all_reduce, with a stream that waits for it and one that its own call makes wait.
void add_step(Timeline& timeline, int number, double at, bool operators, double elements) {
  timeline.span("ProfilerStep#" + std::to_string(number), at, at + 900);
  if (operators) timeline.op(at + 1);
  timeline.kernel("a", at + 10, at + 20, at + 30, at + 130);
  Json described = operators ? Timeline::all_reduce(elements) : Json::object();
  Json own = Json::object();
  if (operators) own = described["External id"] = 5 + number;
  timeline.wait_event(at + 25, at + 26, own);
  timeline.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", at + 30, at + 40, at + 140, at + 200, described);
  timeline.wait_event(at + 45, at + 46, Json());
  timeline.kernel("b", at + 50, at + 60, at + 210, at + 300);
}

Json bundle(int steps, int rank = 0) {
  Timeline operators, timings;
  add_step(operators, 0, 0, true, 1000);
  for (int step = 0; step < steps; ++step) add_step(timings, step, 1000 * step, false, 0);
  return {{"schema", "recorded-steps/1"},
          {"rank", rank},
          {"ranks", 2},
          {"untraced_steps", 20},
          {"step_time_s", 2e-3 + rank * 1e-3},
          {"operators", operators.json(rank, 2)},
          {"timings", timings.json(rank, 2)}};
}

std::unique_ptr<Kept> imported(const Json& first, const Json& second, const Options& options = {}) {
  const ScratchFolder scratch;
  std::vector<std::string> paths;
  for (const Json* one : {&first, &second}) {
    paths.push_back((scratch / ("rank" + std::to_string(paths.size()) + ".json")).string());
    std::ofstream(paths.back()) << *one;
  }
  return imported_trace("kineto", paths, options);
}

}  // namespace

TEST_CASE("kineto: a bundle's timings get their collectives from its step with operators", "[unit][trace]") {
  const auto trace = imported(bundle(3, 0), bundle(3, 1));
  CHECK(trace->head.step_time_s == 3e-3);  // the slower rank's
  CHECK(trace->head.groups.at("0") == std::vector<int>{0, 1});
  CHECK(steps_of(*trace) == 2 * 3);
  std::vector<TraceEvent> calls;
  const std::vector<TraceEvent> mine = trace->of(1);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i].kind != TraceKind::kCollective) continue;
    CHECK(mine[i].op == "all_reduce");
    CHECK(mine[i].size_B == 4000);
    CHECK(mine[i].group == "0");
    CHECK(mine[i].after == std::vector<std::int64_t>{mine[i - 1].id.value()});
    // the wait that is the collective's own makes nothing wait; the other one makes b wait for it
    CHECK(mine[i + 1].after == std::vector<std::int64_t>{mine[i].id.value()});
    calls.push_back(mine[i]);
  }
  CHECK(calls.size() == 3);
  CHECK_FALSE(imported(bundle(3, 0), bundle(3, 1), {{"host-scale", "1"}})->head.step_time_s);
  CHECK(imported(bundle(3, 0), bundle(3, 1), {{"step-time", "5ms"}})->head.step_time_s == 5e-3);
}

// Cut from recordings of fully_shard on 4 H200 (PyTorch 2.11, 12 layers of width 2048, bf16): the first 13 launches of
// a step with operators, and of two with CUDA activities alone on another day. Cut too: names after 90 letters, and the
// group to its first two ranks.
TEST_CASE("kineto: a bundle cut from real recordings", "[unit][trace]") {
  const auto trace =
      imported_trace("kineto", {trace_sample("kineto-bundle-rank0.json"), trace_sample("kineto-bundle-rank1.json")});
  CHECK(trace->head.device == "NVIDIA H200");
  CHECK(trace->head.groups.at("0") == std::vector<int>{0, 1});
  CHECK(steps_of(*trace) == 2 * 2);
  for (const int rank : {0, 1}) {
    int gathers = 0;
    for (const TraceEvent& event : trace->of(rank)) {
      if (event.kind != TraceKind::kCollective) continue;
      ++gathers;
      CHECK(event.op == "all_gather");
      // of a layer: four matrices, 12 width^2, and two norms, 4 width; 2 B each
      CHECK(event.size_B == 2 * (12 * 2048 * 2048 + 4 * 2048));
    }
    CHECK(gathers == 2);
  }
}

TEST_CASE("kineto: a bundle is refused where it is not whole, or its steps are not alike", "[unit][trace]") {
  const auto error = [](const Json& json) { return trace_error("kineto", json.dump()); };
  Json changed = bundle(1);
  changed["schema"] = "recorded-steps/2";
  CHECK(error(changed).rfind("FILE:/schema: ", 0) == 0);
  changed = bundle(1);
  changed["step_time_s"] = 0;
  CHECK(error(changed) == "FILE:/step_time_s: must be above 0");
  changed = bundle(1);
  changed.erase("timings");
  CHECK(error(changed) == "FILE:/timings: missing key");
  changed = bundle(1);
  changed["operators"] = bundle(2)["timings"];
  CHECK(error(changed).find("FILE: operators: holds CUDA activities alone") == 0);
  changed = bundle(1);
  Timeline other;
  other.kernel("a", 0, 5, 10, 20);
  changed["timings"] = other.json();
  CHECK(error(changed) ==
        "FILE:/timings: step 0 has 0 NCCL kernels, and the step with operators 1: the steps have to be alike");
  Timeline named;
  named.kernel("ncclDevKernel_Broadcast(x)", 0, 5, 10, 20);
  changed["timings"] = named.json();
  CHECK(error(changed).find("is ncclDevKernel_Broadcast, and in the step with operators ncclDevKernel_AllReduce") !=
        std::string::npos);
}

namespace {

/// Ten all_reduces of 100 us alone, 120 beside compute, of which the first is beside none and the last beside all.
Timeline calls_beside_compute(double waits_us) {
  Timeline timeline;
  timeline.op(1);
  for (int call = 0; call < 10; ++call) {
    const double at = 1000 * call;
    const double share = call / 9.0;
    const double takes = 100 + 20 * share;
    timeline.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", at, at + 5, at + 20 - waits_us, at + 20 + takes,
                    Timeline::all_reduce(1e6));
    if (call > 0) timeline.kernel("gemm", at + 6, at + 8, at + 20, at + 20 + share * takes);
  }
  return timeline;
}

}  // namespace

TEST_CASE("kineto: collectives beside compute are slower by what the recording shows", "[unit][trace]") {
  const ScratchFolder scratch;
  std::vector<std::string> files;
  for (const int rank : {0, 1}) {
    files.push_back((scratch / ("rank" + std::to_string(rank) + ".json")).string());
    std::ofstream(files.back()) << calls_beside_compute(rank == 1 ? 15 : 0).text(rank, 2);
  }
  const auto both = imported_trace("kineto", files);
  CHECK(both->head.collective_slowdown == 1.2);
  CHECK(both->notes("collective_slowdown beside compute: fitted to 10 calls"));
}

TEST_CASE("kineto: all_reduce of an inference engine has the size of its operator's tensor, by all ranks",
          "[unit][trace]") {
  const auto rank = [](int number, const std::string& kernel, bool shapes) {
    Timeline timeline;
    Json args{{"External id", 5}};
    if (shapes) {
      args["Input Dims"] = {Json::array(), {64, 4096}, {64, 4096}};
      args["Input type"] = {"Scalar", "c10::BFloat16", "c10::BFloat16"};
    }
    timeline.add("cpu_op", "_C_custom_ar::all_reduce", 1, 0, 10, args);
    timeline.kernel(kernel, 2, 5, 10, 20, {{"External id", 5}});
    return timeline.text(number, 2);
  };
  const auto imported = [&](const std::string& kernel, bool shapes) {
    const ScratchFolder scratch;
    std::vector<std::string> paths;
    for (const int number : {0, 1}) {
      paths.push_back((scratch / std::to_string(number)).string());
      std::ofstream(paths.back(), std::ios::binary) << rank(number, kernel, shapes);
    }
    return imported_trace("kineto", paths);
  };
  const auto vllm = imported("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)", true);
  REQUIRE(vllm->of(0).size() >= 1);
  CHECK(vllm->of(0).front().kind == TraceKind::kCollective);
  CHECK(vllm->of(0).front().op == "all_reduce");
  CHECK(vllm->of(0).front().size_B == 64 * 4096 * 2);
  CHECK(vllm->head.groups.at(vllm->of(0).front().group) == std::vector<int>{0, 1});
  CHECK(to_json(vllm->head)["library"] == "vllm");
  CHECK(imported("void allreduce_fusion_kernel_oneshot_lamport<0, __nv_bfloat16, 2>(x)", true)->head.library ==
        "trtllm");
  const auto unread = imported("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)", false);
  CHECK(unread->of(0).front().kind == TraceKind::kCompute);
  CHECK(unread->head.library.empty());
  CHECK(unread->notes("2 kernels are an inference engine's all_reduce of unknown size"));
}

}  // namespace linkcast::test::kineto_test
