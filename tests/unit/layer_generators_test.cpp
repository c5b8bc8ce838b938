// Patterns with one kind of parallelism: calls and bytes of a step against the formulae of the papers that they cite.
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/generated_trace.hpp"

namespace linkcast::test::layer_generators_test {

namespace {

constexpr double kExact = 1e-12;
constexpr double kGpus = 4, kLayers = 6, kHidden = 512, kSequence = 128, kBatch = 3, kFlops = 1e12;
constexpr double kTokens = kBatch * kSequence;

std::map<std::string, std::string> small(std::map<std::string, std::string> more) {
  more.insert({{"gpus", "4"}, {"layers", "6"}, {"hidden", "512"}, {"sequence", "128"}, {"batch", "3"}, {"steps", "1"}});
  return more;
}

/// Of one rank.
std::vector<TraceEvent> calls(const GeneratedTrace& trace, const std::string& op) {
  std::vector<TraceEvent> found;
  for (const TraceEvent& event : trace.of(1, TraceKind::kCollective))
    if (event.op == op) found.push_back(event);
  return found;
}

/// Narayanan et al., SC 2021, appendix: a forward pass of a layer.
constexpr double kForward = 24 * kTokens * kHidden * kHidden + 4 * kTokens * kSequence * kHidden;
/// The same, equation 2: parameters of a layer.
constexpr double kParameters = 12 * kHidden * kHidden + 13 * kHidden;

}  // namespace

TEST_CASE("tensor parallel: Megatron-LM's two sums of b s h values a layer and pass", "[unit][generators]") {
  const auto& [dtype, value_B] =
      GENERATE(std::pair<std::string, double>{"fp8", 1}, std::pair<std::string, double>{"bf16", 2},
               std::pair<std::string, double>{"fp32", 4});
  for (const int training : {0, 1}) {
    const GeneratedTrace trace("tensor_parallel",
                               small({{"dtype", dtype}, {"flops", "1e12"}, {"training", std::to_string(training)}}));
    const auto sums = calls(trace, "all_reduce");
    CHECK(sums.size() == static_cast<std::size_t>(2 * kLayers * (1 + training)));
    for (const TraceEvent& sum : sums) CHECK(sum.size_B == kTokens * kHidden * value_B);
    CHECK_THAT(seconds(trace.of(TraceKind::kCompute)),
               WithinRel(kLayers * kForward * (training ? 3 : 1) / kFlops, kExact));
  }
}

TEST_CASE("sequence parallel: an all_gather and a reduce_scatter for each sum", "[unit][generators]") {
  // Korthikanti et al., section 4.2.2: the bytes of an all_reduce are those of both together
  const GeneratedTrace trace("tensor_parallel", small({{"sequence-parallel", "1"}}));
  CHECK(calls(trace, "all_reduce").empty());
  for (const char* op : {"all_gather", "reduce_scatter"}) {
    CHECK(calls(trace, op).size() == 4 * kLayers);
    CHECK(bytes(calls(trace, op)) == 4 * kLayers * kTokens * kHidden * 2);
  }
}

TEST_CASE("decoding: a token sums b h values twice a layer, and reads all that is kept", "[unit][generators]") {
  const GeneratedTrace trace("decoding", small({{"memory", "1e11"}, {"flops", "1e15"}}));
  const auto sums = calls(trace, "all_reduce");
  CHECK(sums.size() == 2 * kLayers);
  for (const TraceEvent& sum : sums) CHECK(sum.size_B == kBatch * kHidden * 2);
  // Pope et al., section 2: all parameters, and keys and values of each token before, once a token
  CHECK_THAT(seconds(trace.of(TraceKind::kCompute)),
             WithinRel(kLayers * (kParameters + 2 * kTokens * kHidden) * 2 / 1e11, kExact));
  // Where arithmetic is the limit: two operations a parameter and sequence, and attention's.
  const GeneratedTrace slow("decoding", small({{"memory", "1e18"}, {"flops", "1e12"}}));
  CHECK_THAT(seconds(slow.of(TraceKind::kCompute)), WithinRel(kLayers * kForward / kSequence / kFlops, kExact));
  const GeneratedTrace timed("decoding", small({{"layer", "80us"}}));
  CHECK_THAT(seconds(timed.of(0, TraceKind::kCompute)), WithinRel(kLayers * 80e-6 / kGpus, kExact));
}

TEST_CASE("experts: two alltoalls of k c b s h values a layer with experts and pass", "[unit][generators]") {
  struct Case {
    int every, top;
    double capacity;
  };
  const Case given = GENERATE(Case{2, 2, 1}, Case{1, 1, 1.25}, Case{3, 2, 2});  // GShard; Switch; another
  const GeneratedTrace trace("expert_parallel", small({{"every", std::to_string(given.every)},
                                                       {"top", std::to_string(given.top)},
                                                       {"capacity", std::to_string(given.capacity)},
                                                       {"flops", "1e12"}}));
  const double with_experts = kLayers / given.every, copies = given.top * given.capacity;
  const auto exchanges = calls(trace, "alltoall");
  CHECK(exchanges.size() == static_cast<std::size_t>(2 * 2 * with_experts));
  for (const TraceEvent& exchange : exchanges)
    CHECK_THAT(exchange.size_B, WithinRel(copies * kTokens * kHidden * 2, kExact));
  // What is not in experts is the same on each GPU and summed: all of a layer but its MLP, 8 h^2 + 7 h.
  const auto sums = calls(trace, "all_reduce");
  REQUIRE(sums.size() == 1);
  const double experts = with_experts * (8 * kHidden * kHidden + 7 * kHidden);
  CHECK_THAT(sums[0].size_B, WithinRel(4 * (kLayers * kParameters - experts), kExact));
  // Experts compute on each copy of a token: 16 b s h^2 operations of a pass.
  const double mlp = 16 * kTokens * kHidden * kHidden;
  CHECK_THAT(seconds(trace.of(0, TraceKind::kCompute)),
             WithinRel(3 * (kLayers * kForward + with_experts * (copies - 1) * mlp) / kFlops, kExact));
  CHECK(calls(GeneratedTrace("expert_parallel", small({{"training", "0"}})), "all_reduce").empty());
}

TEST_CASE("fully sharded: ZeRO's three times the parameters, two where they are kept", "[unit][generators]") {
  const double all_B = kLayers * kParameters * 2;
  const auto volumes = [](const std::map<std::string, std::string>& more) {
    const GeneratedTrace trace("fully_sharded", small(more));
    return std::pair(bytes(calls(trace, "all_gather")), bytes(calls(trace, "reduce_scatter")));
  };
  CHECK(volumes({}) == std::pair(2 * all_B, all_B));              // ZeRO, section 7.3: 3 Psi
  CHECK(volumes({{"reshard", "0"}}) == std::pair(all_B, all_B));  // section 7.2: 2 Psi, as data parallel
  CHECK(volumes({{"gradient", "4B"}}) == std::pair(2 * all_B, 2 * all_B));
  CHECK(volumes({{"training", "0"}}) == std::pair(all_B, 0.0));
  const GeneratedTrace trace("fully_sharded", small({}));
  CHECK(calls(trace, "all_gather").size() == 2 * kLayers);
  CHECK(calls(trace, "reduce_scatter").size() == kLayers);
}

TEST_CASE("a pipeline: 2 (p - 1) m messages of b s h values, each received", "[unit][generators]") {
  const std::string schedule = GENERATE("gpipe", "1f1b");
  for (const int training : {0, 1}) {
    const GeneratedTrace trace(
        "pipeline_parallel",
        small({{"gpus", "3"}, {"microbatches", "5"}, {"schedule", schedule}, {"training", std::to_string(training)}}));
    std::map<std::tuple<int, int, std::string>, int> open;
    for (const TraceEvent& event : trace.of(TraceKind::kSend)) {
      CHECK(event.size_B == kTokens * kHidden * 2);
      ++open[{event.rank, event.peer, event.tag}];
    }
    CHECK(open.size() == static_cast<std::size_t>((1 + training) * 2 * 5));
    for (const TraceEvent& event : trace.of(TraceKind::kRecv)) --open[{event.peer, event.rank, event.tag}];
    for (const auto& [message, count] : open) CHECK(count == 0);
  }
}

TEST_CASE("a stage of GPipe keeps all microbatches, one of 1F1B as many as stages follow", "[unit][generators]") {
  for (const auto& [schedule, first] : std::vector<std::pair<std::string, int>>{{"gpipe", 5}, {"1f1b", 3}}) {
    const GeneratedTrace trace("pipeline_parallel",
                               small({{"gpus", "3"}, {"microbatches", "5"}, {"schedule", schedule}}));
    for (int stage = 0; stage < 3; ++stage) {
      int kept = 0, most = 0;
      for (const TraceEvent& event : trace.of(stage, TraceKind::kCompute)) {
        kept += event.name == "forward" ? 1 : -1;
        most = std::max(most, kept);
      }
      CHECK(kept == 0);
      CHECK(most == (schedule == "gpipe" ? first : first - stage));
    }
  }
}

TEST_CASE("layers: options that no pattern takes are refused", "[unit][generators][bad_input]") {
  using Case = std::tuple<std::string, std::map<std::string, std::string>, std::string>;
  for (const auto& [name, options, error] : std::vector<Case>{
           {"tensor_parallel", {{"gpus", "5"}}, "option hidden: 2304 cannot be divided by 5 (gpus)"},
           {"tensor_parallel", {{"dtype", "int8"}}, "option dtype: 'int8' is none of fp8, bf16, fp16, fp32"},
           {"tensor_parallel", {{"training", "2"}}, "option training: must be 0 or 1"},
           {"tensor_parallel", {{"layer", "1ms"}, {"flops", "1"}}, "option layer: is instead of flops"},
           {"tensor_parallel", {{"layer", "0us"}}, "option layer: must be above 0"},
           {"tensor_parallel", {{"flops", "0"}}, "option flops: must be positive"},
           {"decoding", {{"memory", "0"}}, "option memory: must be positive"},
           {"expert_parallel", {{"capacity", "0"}}, "option capacity: must be positive"},
           {"pipeline_parallel", {{"gpus", "5"}}, "option layers: 24 cannot be divided by 5 (gpus)"},
           {"pipeline_parallel", {{"schedule", "2f2b"}}, "option schedule: '2f2b' is neither 1f1b nor gpipe"}})
    CHECK(error_of([&, &name = name, &options = options] { GeneratedTrace(name, options); }) == error);
}

}  // namespace linkcast::test::layer_generators_test
