// The evaluator of claims on fakes: readers, reducers, structure, expressions, measured data.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "validate/evaluate.hpp"
#include "validate/measured_query.hpp"
#include "validate/reduce.hpp"
#include "validate/scoreboard.hpp"
#include "validate/wiring.hpp"

namespace linkcast::test::evaluator_test {

namespace {

/// A file that goes away with the object.
class TempFile {
 public:
  explicit TempFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / ("linkcast-claims-" + std::to_string(++count_) + "-" +
                                                         std::to_string(std::filesystem::hash_value(text)) + ".json"))
                  .string()) {
    std::ofstream(path_) << text;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static inline int count_ = 0;
  std::string path_;
};

std::vector<validate::Claim> read_row(const Json& row) {
  const TempFile file(
      Json{{"schema", "claims/1"}, {"paper", "p"}, {"title", "t"}, {"claims", Json::array({row})}}.dump());
  return validate::read_claims(file.path());
}

Json row() {
  return Json::parse(
      R"({"id": "X-1", "section": "1", "system": "s", "kind": "ordering", "class": "p2p", "role": "predicted",
    "statement": "a statement", "source": "paper, section 1",
    "quantities": {"bw": {"query": {"platform": "pair", "kind": "p2p",
                                    "src": "{src}", "dst": "{dst}", "size_B": "{size}"},
                          "over": {"size": [10, 1000], "src,dst": {"pairs": "all"}},
                          "key": "bandwidth_Bps", "reduce": ["none", "median"]}},
    "predicate": "abs(bw_1000 / bw_10 / expected - 1) <= tol", "predicted": "bw_1000 / bw_10",
    "expected": 2, "unit": "ratio",
    "tolerance": {"value": 0.1, "why": "because the test says so"}})");
}

Json pair_machine() {
  return Json::parse(R"({"devices": [{"id": "gpu0", "kind": "gpu"}, {"id": "gpu1", "kind": "gpu"}],
    "cables": [{"a": "gpu0", "b": "gpu1", "kind": "nvlink1", "count": 1, "bandwidth_Bps": 2e10}]})");
}

/// Bandwidth doubles from 10 B to 1000 B if `factor` is 2.
validate::Answer simulation(double factor) {
  return [factor](const Json& query) -> Json {
    if (query.at("kind") == "show") return pair_machine();
    return {{"bandwidth_Bps", query.at("size_B") == 10 ? 1.0 : factor}};
  };
}

/// DGX-1-like: four GPUs in a square of double links with one single diagonal, two per PCIe switch, two sockets.
Json square_machine() {
  return Json::parse(R"({
    "devices": [{"id": "gpu0", "kind": "gpu"}, {"id": "gpu1", "kind": "gpu"}, {"id": "gpu2", "kind": "gpu"},
                {"id": "gpu3", "kind": "gpu"}, {"id": "plx0", "kind": "pcie_switch"}, {"id": "cpu0", "kind": "cpu"},
                {"id": "cpu1", "kind": "cpu"}],
    "cables": [{"a": "gpu0", "b": "gpu1", "kind": "nvlink2", "count": 2, "bandwidth_Bps": 25e9},
               {"a": "gpu1", "b": "gpu2", "kind": "nvlink2", "count": 2, "bandwidth_Bps": 25e9},
               {"a": "gpu2", "b": "gpu3", "kind": "nvlink2", "count": 2, "bandwidth_Bps": 25e9},
               {"a": "gpu3", "b": "gpu0", "kind": "nvlink2", "count": 2, "bandwidth_Bps": 25e9},
               {"a": "gpu0", "b": "gpu2", "kind": "nvlink2", "count": 1, "bandwidth_Bps": 25e9},
               {"a": "gpu0", "b": "plx0", "kind": "pcie3", "count": 1, "bandwidth_Bps": 16e9},
               {"a": "gpu1", "b": "plx0", "kind": "pcie3", "count": 1, "bandwidth_Bps": 16e9},
               {"a": "plx0", "b": "cpu0", "kind": "pcie3", "count": 1, "bandwidth_Bps": 16e9},
               {"a": "gpu2", "b": "cpu0", "kind": "pcie3", "count": 1, "bandwidth_Bps": 16e9},
               {"a": "gpu3", "b": "cpu1", "kind": "pcie3", "count": 1, "bandwidth_Bps": 16e9},
               {"a": "cpu0", "b": "cpu1", "kind": "qpi", "count": 1, "bandwidth_Bps": 19e9}]})");
}

std::string error_of(const Json& changed) {
  return test::error_of([&] { read_row(changed); });
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Json changed(const std::string& pointer, const Json& value) {
  Json out = row();
  out[Json::json_pointer(pointer)] = value;
  return out;
}

}  // namespace

TEST_CASE("a row may name a counterexample of other queries", "[paper]") {
  Json with = row();
  with["counterexample"] = {{"platform", "square"}};
  CHECK(read_row(with).at(0).counterexample == Json{{"platform", "square"}});
  CHECK(read_row(row()).at(0).counterexample.is_null());
  with["counterexample"] = "square";
  CHECK(test::error_of([&] { read_row(with); }).find("/claims/0/counterexample: must be an object of query keys") !=
        std::string::npos);
}

TEST_CASE("a row keeps its earlier readings, with day and reason", "[paper]") {
  Json changed = row();
  const Json entry{{"date", "2026-11-23"},
                   {"was", {{"tolerance", 0.05}}},
                   {"verdict", "fail"},
                   {"why", "printed with one digit, half a unit of it"}};
  changed["history"] = Json::array({entry});
  const auto read = read_row(changed).at(0).history;
  REQUIRE(read.size() == 1);
  CHECK(read[0].date == "2026-11-23");
  CHECK(read[0].was == Json{{"tolerance", 0.05}});
  const auto refused = [&](const std::string& key, const Json& value) {
    Json bad = changed;
    bad["history"][0][key] = value;
    return test::error_of([&] { read_row(bad); });
  };
  CHECK(refused("date", "23.11.2026").find("/claims/0/history/0/date: must be a day") != std::string::npos);
  CHECK(refused("was", Json::object()).find("must give what changed") != std::string::npos);
  CHECK(refused("was", Json{{"note", "x"}}).find("has 'note', which is no part") != std::string::npos);
  CHECK(refused("verdict", "fine").find("/claims/0/history/0/verdict") != std::string::npos);
  CHECK(refused("why", "it failed").find("must give the reason") != std::string::npos);
  Json earlier = entry;
  earlier["date"] = "2026-11-21";
  changed["history"].push_back(earlier);
  CHECK(test::error_of([&] { read_row(changed); }).find("not in the order") != std::string::npos);
}

TEST_CASE("a row passes or fails by its predicate on simulated numbers", "[paper]") {
  const auto claims = read_row(row());
  const auto good = validate::evaluate(simulation(2.1), ".", claims).front();
  CHECK(good.verdict == validate::ClaimVerdict::kPass);
  CHECK_THAT(good.predicted["value"].get<double>(), WithinRel(2.1, 1e-12));
  const auto bad = validate::evaluate(simulation(2.3), ".", claims).front();
  CHECK(bad.verdict == validate::ClaimVerdict::kFail);
  CHECK(contains(bad.why, "is false"));
  const auto dead = validate::evaluate(
                        [](const Json&) {
                          return Json{{"error", "no such machine"}};
                        },
                        ".", claims)
                        .front();
  CHECK(dead.verdict == validate::ClaimVerdict::kFail);
  CHECK(contains(dead.why, "no such machine"));
  CHECK(validate::none_failed({good}));
  CHECK_FALSE(validate::none_failed({good, bad}));
  const Json board = validate::scoreboard_json({good, bad})["scoreboard"];
  CHECK(board["total"]["claims"] == 2);
  CHECK(board["p"]["fail"] == 1);
  CHECK(board["p"]["roles"]["predicted"]["pass"] == 1);
  CHECK(board["total"]["roles"]["fitted"]["claims"] == 0);
}

TEST_CASE("a row whose data contradict it is refuted, whatever the simulation says", "[paper]") {
  const auto measurement = [](double large_Bps) {
    Json m = Json::parse(R"({"schema": "measurement/1", "id": "m", "machine": "m", "topology": "pair", "bench": "b",
      "source": "s", "timing": "single", "environment": {}, "method": {}, "points": []})");
    for (const auto& [source, target] : {std::pair{"gpu0", "gpu1"}, std::pair{"gpu1", "gpu0"}})
      for (const auto& [size, rate] : {std::pair{10.0, 1.0}, std::pair{1000.0, large_Bps}})
        m["points"].push_back({{"transport", "peer"},
                               {"source", source},
                               {"target", target},
                               {"size_B", size},
                               {"bandwidth_Bps", {rate}}});
    return m.dump();
  };
  Json with_data = row();
  with_data["quantities"]["bw"]["query"]["transport"] = "peer";
  const auto verdict = [&](double measured_Bps, double simulated_Bps) {
    const TempFile file(measurement(measured_Bps));
    with_data["data"] = {{"files", {std::filesystem::path(file.path()).filename().string()}}, {"why", "test"}};
    return validate::evaluate(simulation(simulated_Bps), std::filesystem::temp_directory_path().string(),
                              read_row(with_data))
        .front()
        .verdict;
  };
  CHECK(verdict(2, 2) == validate::ClaimVerdict::kPass);
  CHECK(verdict(2, 3) == validate::ClaimVerdict::kFail);
  CHECK(verdict(3, 2) == validate::ClaimVerdict::kRefutedByData);
  CHECK(verdict(3, 3) == validate::ClaimVerdict::kRefutedByData);
}

TEST_CASE("contains counts the results whose list has a text", "[paper]") {
  const validate::Answer routes = [](const Json& query) -> Json {
    if (query.at("kind") == "show") return pair_machine();
    return {{"route", {query.at("src").get<std::string>() + "->" + query.at("dst").get<std::string>()}}};
  };
  Json crossing = row();
  crossing["quantities"] = {
      {"paths",
       {{"query", {{"platform", "pair"}, {"kind", "p2p"}, {"src", "{a}"}, {"dst", "{b}"}}},
        {"over", {{"link", {"gpu0->gpu1", "gpu1->gpu0", "gpu1->gpu2"}}, {"a,b", {{"pairs", "all"}}}}},
        {"key", "route"},
        {"contains", "{link}"},
        {"reduce", {"none", "sum"}}}}};
  crossing["predicate"] = "paths_0 == expected && paths_1 == expected && paths_2 == 0 && tol > 0";
  crossing["predicted"] = "paths_0";
  crossing["expected"] = 1;
  CHECK(validate::evaluate(routes, ".", read_row(crossing)).front().verdict == validate::ClaimVerdict::kPass);
  crossing["quantities"]["paths"]["equals"] = "x";
  CHECK(contains(error_of(crossing), "exclude"));
}

TEST_CASE("the table of claims names numbers only where no figure is claimed", "[paper]") {
  Json ordering = row();
  ordering["expected"] = nullptr;
  ordering["unit"] = "";
  ordering["predicate"] = "bw_1000 > (1 + tol) * bw_10";
  ordering["predicted"] = {"bw_1000", "bw_1000 / bw_10"};
  const std::string table =
      validate::claims_table(validate::evaluate(simulation(2.1), ".", {read_row(row())[0], read_row(ordering)[0]}));
  CHECK(contains(table, "| X-1 | a statement | 2 ratio | 2.1 ratio | pass | predicted | 4.5 % |  |\n"));
  CHECK(contains(table, "| X-1 | a statement | - | bw_1000 2.1, 2.1 | pass | predicted | 48 % |  |\n"));
}

TEST_CASE("the margin is the least change of one number that turns the verdict", "[paper]") {
  const auto strength = [](const Json& changes, double factor) {
    Json claim = row();
    claim.update(changes);
    return validate::evaluate(simulation(factor), ".", read_row(claim)).front().strength;
  };
  // 2.1 of 2 within a tenth: 2.2 is reached by 4.76 % more above, or by 4.55 % less below the line
  const auto near = strength(Json::object(), 2.1);
  CHECK_THAT(near.margin.value(), WithinAbs(1 - 2.1 / 2.2, 1e-4));
  CHECK(near.quantity == "bw_10");
  const auto failed = strength(Json::object(), 4.4);
  CHECK_THAT(failed.margin.value(), WithinAbs(0.5, 1e-3));
  const Json ranked = {{"quantities", {{"bw", row()["quantities"]["bw"]}}},
                       {"predicate", "bw == 1 && expected > 0 && tol > 0"},
                       {"predicted", "bw"}};
  Json rising = ranked;
  rising["quantities"]["bw"]["reduce"] = {"rising", "median"};
  CHECK_FALSE(strength(rising, 2.1).margin.has_value());
}

TEST_CASE("a row without a role, or with another, is refused", "[paper]") {
  Json nothing = row();
  nothing.erase("role");
  CHECK(contains(error_of(nothing), "role"));
  CHECK(contains(error_of(changed("/role", "guessed")), "predicted"));
  CHECK(contains(error_of(changed("/cause", "weather")), "reading"));
}

TEST_CASE("a quantity may be relative to another query, and its key a path", "[paper]") {
  Json ratio = changed("/quantities/bw/key", "classes.far.rate");
  ratio["quantities"]["bw"]["relative_to"] = {{"transport", "slow"}};
  const validate::Answer answers = [](const Json& query) -> Json {
    if (query.at("kind") == "show") return pair_machine();
    const double rate = query.value("transport", "") == "slow" ? 4 : query.at("size_B") == 10 ? 12 : 24;
    return {{"classes", {{{"name", "near"}, {"rate", 1}}, {{"id", "far"}, {"rate", rate}}}}};
  };
  const auto values = validate::quantities_of(read_row(ratio).front(), answers);
  CHECK(values.at("bw_10") == 3);
  CHECK(values.at("bw_1000") == 6);
  ratio["quantities"]["bw"]["key"] = "classes.near.rate";
  CHECK(validate::quantities_of(read_row(ratio).front(), answers).at("bw_10") == 1);
  ratio["quantities"]["bw"]["key"] = "classes.middle.rate";
  CHECK_THROWS_AS(validate::quantities_of(read_row(ratio).front(), answers), validate::SimulationError);
}

TEST_CASE("messages between nodes are found in data by node and device", "[paper]") {
  Measurement m;
  m.topology = "pair";
  MeasuredPoint point;
  point.transport = "pinned";
  point.source = point.target = "gpu0";
  point.size_B = 8;
  point.between_nodes = true;
  point.time_s = {2};
  m.points = {point};
  const validate::Answer measured = validate::measured_answer({m}, simulation(2));
  const Json query = {{"platform", "pair"},  {"kind", "p2p"}, {"src", "node0/gpu0"},
                      {"dst", "node1/gpu0"}, {"size_B", 8},   {"transport", "pinned"}};
  CHECK(measured(query)["bandwidth_Bps"] == 4);
}

TEST_CASE("data that do not cover a row are an error, not a verdict", "[paper]") {
  const validate::Answer nothing = validate::measured_answer({}, simulation(2));
  const Json query = Json::parse(
      R"({"platform": "pair", "kind": "p2p", "src": "gpu0", "dst": "gpu1", "size_B": 10, "transport": "peer"})");
  CHECK_THROWS_AS(nothing(query), InputError);
  Json collective = query;
  collective["kind"] = "collective";
  CHECK_THROWS_AS(nothing(collective), InputError);
  CHECK(nothing({{"platform", "pair"}, {"kind", "show"}}) == pair_machine());
}

TEST_CASE("malformed rows are refused with the place", "[paper]") {
  CHECK(error_of(row()) == "no error");
  const std::vector<std::pair<Json, std::string>> cases = {
      {changed("/note2", "x"), "/claims/0/note2"},
      {changed("/quantities/bw/reduce", {"none"}), "/quantities/bw/reduce"},
      {changed("/quantities/bw/reduce", {"median", "none"}), "/quantities/bw/reduce/1"},
      {changed("/quantities/bw/reduce", {"none", "average"}), "/quantities/bw/reduce/1"},
      {changed("/quantities/bw/over/src,dst/pairs", "friends"), "nvlink_1"},
      {changed("/quantities/bw/over/size", {10}), "/over/size"},
      {changed("/quantities/bw/query", {{"kind", "p2p"}}), "platform"},
      {changed("/predicate", "1 < tol"), "could not fail"},
      {changed("/predicate", "bw_10 <"), "/predicate"},
      {changed("/predicate", "bw_10 < bw_1000"), "tol"},
      {changed("/tolerance/why", ""), "reason"},
      {changed("/quantities/bw/relative_to", Json::object()), "/relative_to"},
      {changed("/not_modelled", "short"), "20 characters"},
      {changed("/not_modelled", "a platform and a long list of things"), "unknown key"}};
  for (const auto& [bad, expected] : cases) {
    INFO(error_of(bad));
    CHECK(contains(error_of(bad), expected));
  }
}

TEST_CASE("a predicate with an unknown name or without a truth value is an error", "[paper]") {
  CHECK_THROWS_AS(validate::number_of("a + b", {{"a", 1}}, "here"), InputError);
  CHECK_THROWS_AS(validate::truth_of("a + 1", {{"a", 1}}, "here"), InputError);
  CHECK(validate::truth_of("a > 0 && max(a, 2) == 2", {{"a", 1}}, "here"));
  CHECK_FALSE(validate::truth_of("a / a == 1", {{"a", 0}}, "here"));
  CHECK(validate::variables_of("abs(x) < y_2", "here") == std::set<std::string>{"x", "y_2"});
}

TEST_CASE("reducers", "[paper]") {
  const std::vector<validate::Labelled> points = {{2, 3}, {4, 5}, {8, 9}};
  CHECK(validate::reduce("min", points) == 3);
  CHECK(validate::reduce("max", points) == 9);
  CHECK(validate::reduce("median", points) == 5);
  CHECK(validate::reduce("sum", points) == 17);
  CHECK(validate::reduce("spread", points) == 3);
  CHECK(validate::reduce("argmax", points) == 8);
  CHECK(validate::reduce("rising", points) == 1);
  CHECK_THAT(validate::reduce("slope", points), WithinRel(1.0, 1e-12));
  CHECK_THAT(validate::reduce("r2", points), WithinRel(1.0, 1e-12));
  CHECK_THAT(validate::reduce("rank", points), WithinRel(1.0, 1e-12));
  CHECK_THAT(validate::reduce("rank", {{1, 9}, {2, 5}, {3, 1}}), WithinRel(-1.0, 1e-12));
  CHECK(validate::reduce("rising", {{1, 2}, {2, 2}}) == 0);
  CHECK(validate::reduce("count", {{0, 0}, {1, 7}}) == 1);
  CHECK(validate::reduce("from_90", {{1, 10}, {2, 95}, {4, 89}, {8, 90}, {16, 100}}) == 8);
  CHECK(validate::reduce("from_50", points) == 4);
  CHECK(validate::reduce("from_99", {{1, 2}, {2, 1}, {3, 2}}) == 3);
  CHECK(std::isnan(validate::reduce("from_90", {{1, 100}, {2, 50}})));
  CHECK_FALSE(validate::is_reducer("from_9"));
  CHECK_FALSE(validate::is_reducer("from_all"));
  CHECK(std::isnan(validate::reduce("argmin", {{1, 2}, {2, 2}})));
  CHECK(std::isnan(validate::reduce("min", {{1, 2}, {2, std::nan("")}})));
  CHECK_THROWS_AS(validate::reduce("min", {}), InputError);
}

TEST_CASE("pair classes and measures follow from cables", "[paper]") {
  const validate::Wiring wiring(square_machine());
  using Pairs = std::vector<validate::GpuPair>;
  CHECK(wiring.pairs("nvlink_1", {}) == Pairs{{0, 2}, {2, 0}});
  CHECK(wiring.pairs("nvlink_2", {}).size() == 8);
  CHECK(wiring.pairs("no_nvlink", {}) == Pairs{{1, 3}, {3, 1}});
  CHECK(wiring.pairs("pcie_level_1", {}) == Pairs{{0, 1}, {1, 0}});
  CHECK(wiring.pairs("same_socket", {}) == Pairs{{0, 2}, {1, 2}, {2, 0}, {2, 1}});
  CHECK(wiring.pairs("cross_socket", {}).size() == 6);
  CHECK(wiring.pairs("all", {1, 2}) == Pairs{{1, 2}, {2, 1}});
  CHECK(wiring.relays(1, 3) == std::vector<int>{0, 2});
  const auto measure = [&](const std::string& name) { return wiring.measure({name, 2, "nvlink2", {}}); };
  CHECK(measure("gpu_links") == std::vector<double>{5, 4, 5, 4});
  CHECK(measure("peer_links") == std::vector<double>{5, 4, 5, 4});
  CHECK(measure("pair_hops") == std::vector<double>{1, 1, 1, 1, 2, 1});
  CHECK(measure("pair_widest") == std::vector<double>{50e9, 50e9, 50e9, 50e9, 50e9, 50e9});  // 0-2 is wider over 1
  CHECK(measure("cycle_sizes") == std::vector<double>{4});
  CHECK(measure("pcie_levels") == std::vector<double>{1, 1, 0, 0});
  CHECK(measure("cable_bandwidth").size() == 5);
  const Json rings = Json::parse("[[0, 1, 2, 3], [0, 3, 2, 1], [0, 2, 1, 3]]");
  CHECK(wiring.ring_links(rings, true) == std::vector<double>{2, 0});
}

}  // namespace linkcast::test::evaluator_test
