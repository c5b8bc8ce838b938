// Steps of the patterns with one kind of parallelism, replayed, against what their parts take alone.
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::layer_patterns_test {

namespace {

Json replayed(const std::string& trace, Json options) {
  options["gpus"] = 4;
  options["steps"] = 1;
  return query::answer_or_throw(test::catalogue(),
                                {{"kind", "replay"}, {"platform", "hgx-h200"}, {"trace", trace}, {"options", options}},
                                "test");
}

double step_s(const Json& result) { return result["step_time_s"].get<double>(); }

double call_s(const std::string& op, double size_B) {
  return query::answer_or_throw(test::catalogue(),
                                {{"kind", "collective"},
                                 {"launch", "graph"},
                                 {"platform", "hgx-h200"},
                                 {"op", op},
                                 {"gpus", {0, 1, 2, 3}},
                                 {"size_B", size_B},
                                 {"calls", 1}},
                                "test")["time_s"];
}

constexpr double kLayer_s = 4e-3;  ///< longer than what runs beside it
constexpr int kLayers = 8;
const Json kSmall{{"layers", kLayers}, {"hidden", 1024}, {"sequence", 512}, {"layer", "4ms"}};

Json with(const char* key, const Json& value) {
  Json options = kSmall;
  options[key] = value;
  return options;
}

}  // namespace

TEST_CASE("a pipeline's bubble is (p - 1) / m of its work, with either schedule", "[physics][generators]") {
  const std::string schedule = GENERATE("gpipe", "1f1b");
  Json options = with("schedule", schedule);
  options["microbatches"] = 8;
  // Huang et al., GPipe, section 2.3: (p - 1) / (m + p - 1) of the time. Messages of 1 MiB add little.
  const double work_s = 8 * 3 * (kLayers / 4) * kLayer_s;
  const Json result = replayed("pipeline_parallel", options);
  CHECK(step_s(result) >= work_s * (1 + 3.0 / 8));
  CHECK_THAT(step_s(result), WithinRel(work_s * (1 + 3.0 / 8), 2e-3));
}

TEST_CASE("sums of tensor parallel layers are all exposed", "[physics][generators]") {
  const double sum_s = call_s("all_reduce", 512.0 * 1024 * 2);
  const Json result = replayed("tensor_parallel", kSmall);
  CHECK_THAT(step_s(result), WithinRel(3 * kLayers * kLayer_s / 4 + 4 * kLayers * sum_s, 1e-6));
  CHECK_THAT(result["operations"][0]["exposed_s"].get<double>(), WithinRel(4 * kLayers * sum_s, 1e-6));
}

TEST_CASE("of a fully sharded step the first gather of each pass and the last scatter are exposed",
          "[physics][generators]") {
  const double layer_B = (12.0 * 1024 * 1024 + 13 * 1024) * 2;
  const double exposed_s = 2 * call_s("all_gather", layer_B) + call_s("reduce_scatter", layer_B);
  const Json result = replayed("fully_sharded", kSmall);
  CHECK_THAT(step_s(result), WithinRel(3 * kLayers * kLayer_s + exposed_s, 1e-6));
  CHECK_THAT(result["exposed_communication_s"].get<double>(), WithinRel(exposed_s, 1e-6));
}

TEST_CASE("the CPU that issues a token's work may be the limit", "[physics][generators]") {
  // Two computations and two sums a layer.
  Json options = with("issue", "50us");
  options["layer"] = "1us";
  CHECK_THAT(step_s(replayed("decoding", options)), WithinRel(4 * kLayers * 50e-6, 0.02));
}

}  // namespace linkcast::test::layer_patterns_test
