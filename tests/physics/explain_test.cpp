// The terms of a forecast: they add up to its time, and its interval follows from them.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "sim/machine/inherit.hpp"
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
    bool choice = false;  // near a tie, whose interval is not centred
    for (const Json& one : answer["terms"]) choice = choice || one["label"] == "choice";
    for (const Json& one : answer["terms"])
      if (one["label"] == "misfit" && one["uncertainty_share"].get<double>() > 1e-6)
        variance =
            std::max(variance, std::pow(one["spread"].get<double>(), 2) / one["uncertainty_share"].get<double>());
    REQUIRE(variance > 0);
    const double high_s = answer["time_high_s"].get<double>();
    const double half = choice ? std::log(high_s / answer["time_low_s"].get<double>()) / 2
                               : std::log(high_s / answer["time_s"].get<double>());
    CHECK_THAT(half, WithinRel(1.645 * std::sqrt(variance), 1e-6));
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

namespace {

constexpr double kGiB = 1024 * kMiB;

/// A collective, a copy or a message of a machine, at random.
Json random_query(std::mt19937& random) {
  const auto below = [&](std::size_t end) { return static_cast<int>(random() % end); };
  const auto one_of = [&](const auto& list) { return list[static_cast<std::size_t>(below(std::size(list)))]; };
  struct Machine {
    const char* name;
    int gpus, nodes;
  };
  static const std::vector<Machine> machines = {
      {"p100-dgx1", 8, 1}, {"v100-dgx1", 8, 1},   {"dgx2", 16, 1},     {"hgx-h200", 4, 1}, {"rtx-5090", 2, 1},
      {"dgx-b200", 8, 1},  {"rtx2080-sli", 2, 1}, {"mi300x", 8, 1},    {"alps", 4, 8},     {"leonardo", 4, 8},
      {"summit", 6, 8},    {"gb200-nvl72", 4, 8}, {"abci-a100", 8, 8}, {"lumi", 8, 8}};
  static const std::vector<double> sizes = {8, 1000, 65536, kMiB, 10000001, 64 * kMiB, kGiB};
  static const std::vector<const char*> ops = {"all_reduce", "all_gather", "reduce_scatter",
                                               "broadcast",  "reduce",     "alltoall"};
  static const std::vector<const char*> launches = {"graph", "process", "single_process", "pytorch"};
  static const std::vector<const char*> mpis = {"mpi-openmpi", "mpi-mpich", "mpi-cray", "mpi-spectrum"};
  const Machine machine = one_of(machines);
  Json query{{"platform", machine.name}, {"kind", "collective"}, {"size_B", one_of(sizes)}};
  const std::string from = machine.nodes > 1 ? "node0/" : "", to = machine.nodes > 1 ? "node3/" : "";
  const int sort = below(8);
  if (sort == 0) {
    query.update({{"kind", "p2p"}, {"src", from + "gpu0"}, {"dst", to + "gpu1"}});
    if (machine.nodes == 1) query.update({{"launch", below(2) == 0 ? "graph" : "process"}});
    if (below(3) == 0) query["timing"] = "back_to_back";
    return query;
  }
  if (sort == 1) {
    const double size_B = query["size_B"];
    query.erase("size_B");
    query.update({{"kind", "flows"}, {"flows", {{"gpu0", "gpu1", size_B}, {"gpu1", "gpu0", 2 * size_B}}}});
    return query;
  }
  query["op"] = one_of(ops);
  if (machine.nodes > 1 && sort < 6)
    query.update({{"nodes", 2 + below(7)}, {"gpus_per_node", below(2) == 0 ? 1 : machine.gpus}});
  else
    query["gpus"] = machine.gpus == 2 ? Json{0, 1} : Json{0, 1, 3};
  if (sort == 2 || sort == 6)
    query["library"] = one_of(mpis);
  else
    query.update({{"launch", one_of(launches)}, {"calls", below(2) == 0 ? 1 : 20}});
  if (sort == 3 && machine.nodes > 1) query.update({{"noise", 1}, {"samples", 3}});
  if (sort == 4 && !query.contains("nodes"))
    query["with"] = {{{"op", "all_reduce"}, {"size_B", kMiB}, {"gpus", query["gpus"]}}};
  return query;
}

/// Whether a machine found any figure itself, rather than on another one or in what is published of its network.
bool measured_itself(const Calibration& calibration) {
  return std::any_of(calibration.parameters.begin(), calibration.parameters.end(), [](const auto& one) {
    return !one.second.inherited() && !one.second.provenance.starts_with("edited: network ");
  });
}

std::vector<std::string> warnings_with(const Json& answer, const std::string& start) {
  std::vector<std::string> found;
  for (const Json& warning : answer.value("warnings", Json::array()))
    if (warning.get<std::string>().starts_with(start)) found.push_back(warning);
  return found;
}

}  // namespace

TEST_CASE("terms of any forecast add up to its time, none below 0, one a label", "[physics][explain]") {
  std::mt19937 random(20261126);
  int answered = 0, of_messages = 0, several = 0;
  for (int i = 0; i < 300; ++i) {
    Json query = random_query(random);
    query["explain"] = true;
    const Json answer = query::answer(catalogue(), query);
    if (answer.contains("error")) continue;  // an operation that a library does not have, no such message
    INFO(query.dump() << '\n' << answer["terms"].dump());
    ++answered;
    if (query.value("library", "").starts_with("mpi")) ++of_messages;
    CHECK_THAT(sum_of(answer["terms"], "time_s"), WithinRel(answer["time_s"].get<double>(), 1e-9));
    CHECK_THAT(sum_of(answer["terms"], "uncertainty_share"), WithinRel(1, 1e-9));
    std::set<std::string> rows;
    for (const Json& term : answer["terms"]) {
      CHECK(term["time_s"].get<double>() >= 0);
      CHECK_FALSE(term["source"].get<std::string>().empty());
      CHECK(rows.insert(term["label"].get<std::string>()).second);
      if (!term.contains("sources")) continue;
      ++several;
      CHECK(term["sources"].size() > 1);
      CHECK(term["sources"].front() == term["source"]);
    }
  }
  CHECK(answered >= 150);
  CHECK(of_messages >= 20);
  CHECK(several >= 20);
}

TEST_CASE("no figure is called measured on a machine where nothing was", "[physics][explain]") {
  std::mt19937 random(7);
  int unmeasured = 0;
  for (int i = 0; i < 300; ++i) {
    Json query = random_query(random);
    const Calibration& calibration = catalogue().machine(query["platform"])->platform().calibration();
    if (measured_itself(calibration)) continue;
    query["explain"] = true;
    const Json answer = query::answer(catalogue(), query);
    if (answer.contains("error")) continue;
    INFO(query.dump() << '\n' << answer["terms"].dump());
    ++unmeasured;
    for (const Json& term : answer["terms"]) {
      for (const std::string source : term.value("sources", Json::array({term["source"]}))) {
        CHECK(source != "measured");
        if (!source.starts_with("inherited from ")) continue;
        const std::string machine = source.substr(std::string("inherited from ").size());
        CHECK(measured_itself(catalogue().machine(machine)->platform().calibration()));
      }
    }
  }
  CHECK(unmeasured >= 30);
}

TEST_CASE("an answer about a machine where nothing was measured says so once", "[physics][explain]") {
  int unmeasured = 0;
  for (const std::string& id : catalogue().platforms()) {
    const Platform& platform = catalogue().machine(id)->platform();
    const bool own = measured_itself(platform.calibration());
    unmeasured += own ? 0 : 1;
    std::vector<Json> queries = {{{"kind", "show"}},
                                 {{"kind", "p2p"}, {"src", "gpu0"}, {"dst", "gpu1"}, {"size_B", kMiB}},
                                 {{"kind", "place"}, {"count", 2}, {"op", "all_reduce"}, {"size_B", kMiB}}};
    for (Json& query : queries) {
      query["platform"] = id;
      const Json answer = query::answer(catalogue(), query);
      if (answer.contains("error")) continue;
      INFO(query.dump() << '\n' << answer.value("warnings", Json::array()).dump());
      const auto said = warnings_with(answer, "nothing was measured on " + platform.topology().name);
      CHECK(said.size() == (own ? 0 : 1));
      for (const auto& [name, parameter] : platform.calibration().parameters) {
        if (own || !parameter.inherited()) continue;
        const std::string from = parameter.provenance.substr(parameter.provenance.find(':') + 1);
        CHECK(said.front().find(from.substr(0, from.find(','))) != std::string::npos);
      }
    }
  }
  CHECK(unmeasured >= 8);
}

TEST_CASE("a figure of another machine is named where it decides the time", "[physics][explain]") {
  // V100-DGX-1: the rate of its NVLinks was measured, start-ups and all of NCCL are those of other machines
  const Json start{{"platform", "v100-dgx1"}, {"kind", "p2p"}, {"src", "gpu0"}, {"dst", "gpu1"}, {"size_B", 8}};
  Json rate = start;
  rate["size_B"] = kGiB;
  const auto named = [](const Json& answer) { return warnings_with(answer, "not measured on v100-dgx1: "); };
  const Json small = explained(start), large = explained(rate);
  REQUIRE(named(small).size() == 1);
  CHECK(named(large).empty());
  for (const Json& term : small["terms"])
    if (term["label"] == "base")
      CHECK(named(small).front().find("base " + term["source"].get<std::string>()) != std::string::npos);
}

TEST_CASE("one measured size is no range of sizes to be outside of", "[physics][explain]") {
  for (const std::string& id : catalogue().platforms()) {
    const Calibration& calibration = catalogue().machine(id)->platform().calibration();
    for (const double size_B : {8.0, 16 * kGiB}) {
      const Json query{{"platform", id}, {"kind", "p2p"}, {"src", "gpu0"}, {"dst", "gpu1"}, {"size_B", size_B}};
      const Json answer = query::answer(catalogue(), query);
      if (answer.contains("error")) continue;
      INFO(query.dump() << answer["warnings"].dump());
      const bool outside = size_B < calibration.valid_from_B || size_B > calibration.valid_to_B;
      const bool range = calibration.valid_from_B < calibration.valid_to_B;
      CHECK(warnings_with(answer, "size is ").size() == (outside && range ? 1 : 0));
    }
  }
}

TEST_CASE("hops of a schedule are the start-ups after the first", "[physics][explain]") {
  // recursive doubling between 2^k ranks: k messages one after the other, the first of them the base
  Json query{{"platform", "leonardo"},   {"kind", "collective"}, {"op", "all_reduce"},
             {"library", "mpi-openmpi"}, {"size_B", 8},          {"algorithm", "recursive_doubling"},
             {"gpus_per_node", 1}};
  const auto part = [&](int nodes, const std::string& label) {
    query["nodes"] = nodes;
    double sum = 0;
    const Json answer = explained(query);
    for (const Json& term : answer["terms"])
      if (term["label"] == label) sum += term["time_s"].get<double>();
    return sum;
  };
  CHECK(part(2, "hops") == 0);
  CHECK(part(2, "base") > 0);
  for (const int rounds : {2, 3}) {
    CHECK_THAT(part(1 << rounds, "base"), WithinRel(part(2, "base"), 0.5));  // partners are at other distances
    CHECK_THAT(part(1 << rounds, "hops") / part(1 << rounds, "base"), WithinRel(rounds - 1.0, 0.5));
  }
}

}  // namespace linkcast::test::explain_test
