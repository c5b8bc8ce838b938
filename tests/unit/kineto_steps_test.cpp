// Recordings without marks: steps by repetition, and layers that are none.
#include "tests/unit/kineto_timeline.hpp"

namespace linkcast::test::kineto_steps_test {

namespace {

using Names = std::vector<std::string>;

const Names kLayer{"norm", "qkv", "attention", "projection", "norm", "up", "down"};
const std::string kSampling = "void at::native::reduce_kernel<512, 1, at::native::ArgMaxOps<float> >(x)";

void append(Names& to, const Names& more, int times = 1) {
  for (; times > 0; --times) to.insert(to.end(), more.begin(), more.end());
}

/// A step of so many layers, with what comes before and after them.
Names step_of(int layers, const Names& before, const Names& after) {
  Names names = before;
  append(names, kLayer, layers);
  append(names, after);
  return names;
}

Names repeated(const Names& names, int times) {
  Names all;
  append(all, names, times);
  return all;
}

/// Each launched 10 us after the one before; "wait" is the CPU's for the GPU, "nccl..." a collective of two ranks.
Timeline recorded(const Names& names) {
  Timeline timeline;
  timeline.op(0);
  double at = 0;
  for (const std::string& name : names) {
    at += 10;
    if (name == "wait")
      timeline.call("cudaStreamSynchronize", at, at + 2);
    else if (name.rfind("nccl", 0) == 0)
      timeline.kernel(name, at, at + 2, at + 5, at + 9, Timeline::all_reduce(1000));
    else
      timeline.kernel(name, at, at + 2, at + 5, at + 9, {{"grid", {1, 1, 1}}});
  }
  return timeline;
}

int steps_in(const Kept& trace, int rank = 0) {
  int steps = 0;
  for (const TraceEvent& event : trace.of(rank)) steps += event.kind == TraceKind::kStep ? 1 : 0;
  return steps;
}

std::unique_ptr<Kept> imported(const Names& names, const Options& options = {}) {
  return trace_of("kineto", recorded(names).text(), options);
}

}  // namespace

TEST_CASE("kineto: two decode steps without marks are two steps", "[unit][trace]") {
  const auto sampled = imported(repeated(step_of(4, {"embed"}, {"head", kSampling}), 2));
  CHECK(steps_in(*sampled) == 2);
  CHECK(sampled->notes("assumed: 2 steps found by repetition of 31 kernels and copies, since nothing marks them"));
  CHECK_FALSE(sampled->notes("the recording is one step"));
  // of a sampler that nobody knows: the layers that each encloses tell
  CHECK(steps_in(*imported(repeated(step_of(4, {"embed"}, {"head", "own_sampler"}), 2))) == 2);
  // one layer alone, whose token the CPU waits for
  CHECK(steps_in(*imported(repeated(step_of(1, {"embed"}, {"head", "wait"}), 5))) == 5);
}

TEST_CASE("kineto: decode steps whose kernels grow are found by the names of their kernels", "[unit][trace]") {
  Timeline timeline;
  double at = 0;
  for (int step = 1; step <= 3; ++step)
    for (const std::string& name : step_of(4, {"embed"}, {"head", kSampling})) {
      at += 10;
      timeline.kernel(name, at, at + 2, at + 5, at + 9, {{"grid", {name == "attention" ? step : 1, 1, 1}}});
    }
  CHECK(steps_in(*trace_of("kineto", timeline.text())) == 3);
}

TEST_CASE("kineto: three training iterations without marks are three steps", "[unit][trace]") {
  Names iteration = step_of(6, {"embed"}, {"loss"});
  for (int layer = 0; layer < 6; ++layer)
    append(iteration, {"backward_mlp", "backward_attention", "backward_norm", "ncclDevKernel_AllReduce_Sum(x)"});
  append(iteration, {"update"});
  const ScratchFolder scratch;
  std::vector<std::string> paths;
  for (const int rank : {0, 1}) {
    paths.push_back((scratch / std::to_string(rank)).string());
    std::ofstream(paths.back()) << recorded(repeated(iteration, 3)).text(rank, 2);
  }
  const auto trace = imported_trace("kineto", paths);
  for (const int rank : {0, 1}) CHECK(steps_in(*trace, rank) == 3);
  CHECK(trace->notes("3 steps found by repetition of 69 kernels"));
  // ranks that do not agree are of one step
  Names odd = repeated(iteration, 2);
  odd.push_back("ncclDevKernel_AllReduce_Sum(x)");
  std::ofstream(paths.back()) << recorded(odd).text(1, 2);
  CHECK(steps_in(*imported_trace("kineto", paths)) == 1);
}

TEST_CASE("kineto: the layers of one step are no steps", "[unit][trace]") {
  const auto one = imported(step_of(32, {"embed"}, {"norm", "head", kSampling}));
  CHECK(steps_in(*one) == 1);
  CHECK(one->notes("assumed: the recording is one step: it holds neither ProfilerStep"));
  CHECK(
      one->notes("7 kernels and copies repeat 32 times, which may be layers: option steps=32 makes each of them a "
                 "step"));
  CHECK(steps_in(*imported(repeated(kLayer, 32))) == 1);  // nothing encloses them
  // experts, which repeat in each layer, and a CPU that waits in each
  Names experts;
  for (int layer = 0; layer < 16; ++layer) {
    append(experts, {"norm", "qkv", "attention", "route", "wait"});
    append(experts, {"gate", "up", "down"}, 8);
  }
  Names whole{"embed"};
  append(whole, experts);
  append(whole, {"norm", "head", kSampling});
  CHECK(steps_in(*imported(whole)) == 1);
  CHECK(steps_in(*imported(repeated(whole, 2))) == 2);
  // gradients of several batches before one update
  Names accumulated;
  for (int batch = 0; batch < 4; ++batch) append(accumulated, step_of(4, {"embed"}, {"nll_loss_forward_reduce"}));
  accumulated.emplace_back("multi_tensor_apply_kernel");
  CHECK(steps_in(*imported(accumulated)) == 1);
  CHECK(steps_in(*imported(repeated(accumulated, 3))) == 3);
}

TEST_CASE("kineto: what belongs to no whole step is left out", "[unit][trace]") {
  const Names decode = step_of(4, {"embed"}, {"head", kSampling, "wait"});
  Names prefill = step_of(0, {"embed"}, {});
  append(prefill, {"long_norm", "long_attention", "long_mlp"}, 4);
  append(prefill, {"head", kSampling, "wait"});
  append(prefill, decode, 3);
  const auto after_prefill = imported(prefill);
  CHECK(steps_in(*after_prefill) == 3);
  CHECK(after_prefill->notes("3 steps found by repetition of 31 kernels and copies"));
  CHECK(after_prefill->notes("left out: 15 that belong to no whole step"));
  CHECK(after_prefill->events.front().name == "embed");
  CHECK_THAT(after_prefill->events.front().host_s, WithinAbs(0, 18e-6));  // after the wait before it
  // begun and ended within a step: each begins after the CPU's wait
  Names cut = repeated(decode, 4);
  cut.erase(cut.begin(), cut.begin() + 20);
  cut.resize(cut.size() - 5);
  const auto within = imported(cut);
  CHECK(steps_in(*within) == 2);
  CHECK(within->events.front().name == "embed");
}

TEST_CASE("kineto: steps that are marked stay, and an option says how many there are", "[unit][trace]") {
  const Names two = repeated(step_of(4, {"embed"}, {"head", kSampling}), 2);
  Timeline marked = recorded(two);
  marked.span("ProfilerStep#1", 0, 1000);
  CHECK(steps_in(*trace_of("kineto", marked.text())) == 1);
  CHECK(trace_error("kineto", marked.text(), {{"steps", "2"}}) ==
        "option steps: is for recordings that mark none, and FILE marks them");
  CHECK(steps_in(*imported(two, {{"steps", "1"}})) == 1);
  const Names layers = step_of(32, {"embed"}, {"head"});
  const auto halves = imported(layers, {{"steps", "2"}});
  CHECK(steps_in(*halves) == 2);
  CHECK(halves->notes("2 steps found by repetition of 112 kernels and copies, since nothing marks them; left out: 2 "));
  CHECK(steps_in(*imported(layers, {{"steps", "32"}})) == 32);
  CHECK(trace_error("kineto", recorded(layers).text(), {{"steps", "5"}}) ==
        "option steps: no sequence of kernels and copies comes 5 times in FILE");
  CHECK(trace_error("kineto", recorded(layers).text(), {{"steps", "0"}}).rfind("option steps: ", 0) == 0);
}

TEST_CASE("kineto: broken recordings without marks are accepted or refused", "[unit][trace]") {
  check_mutations("kineto", recorded(repeated(step_of(2, {"embed"}, {"head", "wait"}), 3)).text(), 200);
}

}  // namespace linkcast::test::kineto_steps_test
