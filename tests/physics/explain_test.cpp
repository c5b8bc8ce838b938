// The terms of a forecast: they add up to its time, and its interval follows from them.
#include <cmath>
#include <set>

#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::explain_test {

namespace {

const std::vector<Json>& questions() {
  static const std::vector<Json> all = {
      {{"platform", "hgx-h200"},
       {"kind", "collective"},
       {"op", "all_reduce"},
       {"size_B", 64 * kMiB},
       {"gpus", {0, 1, 2, 3}}},
      {{"platform", "hgx-h200"}, {"kind", "collective"}, {"op", "all_reduce"}, {"size_B", 8}, {"gpus", {0, 1, 2, 3}}},
      {{"platform", "p100-dgx1"},
       {"kind", "collective"},
       {"op", "all_gather"},
       {"size_B", 4000000},
       {"gpus", {0, 1, 5}}},
      {{"platform", "alps"},
       {"kind", "collective"},
       {"op", "all_reduce"},
       {"size_B", kMiB},
       {"nodes", 8},
       {"gpus_per_node", 4}},
      {{"platform", "leonardo"},
       {"kind", "collective"},
       {"op", "alltoall"},
       {"size_B", kMiB},
       {"nodes", 2},
       {"gpus_per_node", 4}},
      {{"platform", "leonardo"},
       {"kind", "collective"},
       {"op", "all_reduce"},
       {"size_B", kMiB},
       {"nodes", 2},
       {"gpus_per_node", 4},
       {"library", "mpi-openmpi"}},
      {{"platform", "p100-dgx1"},
       {"kind", "p2p"},
       {"src", "gpu0"},
       {"dst", "gpu5"},
       {"size_B", 64 * kMiB},
       {"transport", "relay"}},
      {{"platform", "leonardo"}, {"kind", "p2p"}, {"src", "node0/gpu0"}, {"dst", "node9/gpu1"}, {"size_B", kMiB}},
      {{"platform", "hgx-h200"}, {"kind", "flows"}, {"flows", {{"gpu0", "gpu1", 1000000}, {"gpu0", "gpu2", 1000000}}}}};
  return all;
}

Json explained(Json query) {
  query["explain"] = true;
  return ask(query);
}

double sum_of(const Json& terms, const char* what) {
  double sum = 0;
  for (const Json& one : terms) sum += one[what].get<double>();
  return sum;
}

}  // namespace

TEST_CASE("terms add up to the time, and their uncertainty to all of it", "[physics][explain]") {
  for (const Json& query : questions()) {
    INFO(query.dump());
    const Json answer = explained(query), &terms = answer["terms"];
    REQUIRE_FALSE(terms.empty());
    CHECK_THAT(sum_of(terms, "time_s"), WithinRel(answer["time_s"].get<double>(), 1e-9));
    CHECK_THAT(sum_of(terms, "time_share"), WithinRel(1, 1e-9));
    CHECK_THAT(sum_of(terms, "uncertainty_share"), WithinRel(1, 1e-9));
    CHECK_FALSE(ask(query).contains("terms"));
    Json with = answer, without = ask(query);
    with.erase("terms");
    for (Json* one : {&with, &without}) one->erase("inputs");  // which repeat the query
    CHECK(with == without);
  }
}

TEST_CASE("the interval follows from the terms' spreads", "[physics][explain]") {
  for (Json query : questions()) {
    if (query["kind"] == "collective" && !query.contains("library")) query["launch"] = "graph";
    INFO(query.dump());
    const Json answer = explained(query);
    // of a term that is independent of all others its own variance is its share of the whole
    double variance = 0;
    for (const Json& one : answer["terms"])
      if (one["label"] == "misfit" && one["uncertainty_share"].get<double>() > 1e-6)
        variance =
            std::max(variance, std::pow(one["spread"].get<double>(), 2) / one["uncertainty_share"].get<double>());
    REQUIRE(variance > 0);
    CHECK_THAT(std::log(answer["time_high_s"].get<double>() / answer["time_s"].get<double>()),
               WithinRel(1.645 * std::sqrt(variance), 1e-6));
  }
}

TEST_CASE("terms name what a forecast is made of", "[physics][explain]") {
  const auto labels = [](const Json& query) {
    std::set<std::string> found;
    const Json answer = explained(query);
    for (const Json& one : answer["terms"]) found.insert(one["label"].get<std::string>());
    return found;
  };
  const std::set<std::string> ring = labels(questions()[0]);
  for (const char* label : {"base", "hops", "serialisation", "launch", "misfit"}) CHECK(ring.count(label) == 1);
  Json pair = questions()[0];
  pair["gpus"] = {0, 1};
  pair["with"] = {{{"op", "all_reduce"}, {"size_B", 64 * kMiB}, {"gpus", {0, 1}}}};
  CHECK(labels(pair).count("contention") == 1);
  CHECK(labels(questions()[5]).count("reduction") == 1);
}

}  // namespace linkcast::test::explain_test
