// The rows of validate/claims: complete, well-formed, able to fail, and with the verdicts recorded in verdicts.json.
#include <algorithm>
#include <functional>
#include <set>

#include "sim/query/query.hpp"
#include "tests/support/catch.hpp"
#include "validate/evaluate.hpp"
#include "validate/scoreboard.hpp"

namespace linkcast::test::claims_test {

namespace {

const std::string kData = test::data_dir();

const std::vector<validate::Claim>& claims() {
  static const std::vector<validate::Claim> all = validate::load_claims(kData + "/validate/claims");
  return all;
}

std::vector<validate::Claim> modelled() {
  std::vector<validate::Claim> rows;
  for (const validate::Claim& claim : claims())
    if (claim.not_modelled.empty()) rows.push_back(claim);
  return rows;
}

/// TPDS-001 ... APE-056: what the five papers' list of statements holds.
std::set<std::string> expected_ids() {
  std::set<std::string> ids;
  for (const auto& [prefix, count] :
       std::vector<std::pair<std::string, int>>{{"TPDS", 125}, {"TAR", 6}, {"SC24", 87}, {"GX8", 47}, {"APE", 56}})
    for (int i = 1; i <= count; ++i) {
      ids.insert(prefix + "-" + std::to_string(1000 + i).substr(1));
    }
  return ids;
}

Json wrong_classes(double number) {
  Json classes = Json::array();
  for (const char* name : {"host", "local", "global", "torus"})
    classes.push_back({{"name", name},
                       {"bandwidth_Bps", number},
                       {"cables", number},
                       {"switches", number},
                       {"ports_of_a_switch", number},
                       {"parts_without", number},
                       {"nodes_of_a_part", number}});
  return classes;
}

Json wrong_traffic(double number) {
  Json kinds = Json::array();
  for (const char* name : {"all_reduce", "broadcast", "h2d", "d2h", "d2d", "send", "recv"})
    kinds.push_back({{"name", name}, {"calls", number}, {"size_B", number}, {"time_s", number}});
  return {{"compute_s", number}, {"communication_s", number}, {"exposed_s", number},
          {"total_s", number},   {"total_B", number},         {"kinds", kinds}};
}

/// Every key a simulation gives, all numbers the same.
Json result_of(double number) {
  return {{"time_s", number},
          {"bandwidth_Bps", number},
          {"latency_s", number},
          {"busbw_Bps", number},
          {"algbw_Bps", number},
          {"transport", "pigeon"},
          {"channels", Json::array({Json::array({0, 1, 2, 3})})},
          {"fallback", true},
          {"step_time_s", number},
          {"traffic", wrong_traffic(number)},
          {"distance", "around the corner"},
          {"route", Json::array({"a->b"})},
          {"gpus", number},
          {"nodes", number},
          {"nics_per_node", number},
          {"switches", number},
          {"diameter_links", number},
          {"expected", {{"alltoall_per_gpu_Bps", number}}},
          {"classes", wrong_classes(number)}};
}

/// Four GPUs in a row on one CPU: none of the machines of the papers.
Json wrong_machine() {
  Json shown{{"devices", Json::array({{{"id", "cpu0"}, {"kind", "cpu"}}})}, {"cables", Json::array()}};
  for (int gpu = 0; gpu < 4; ++gpu) {
    const std::string id = "gpu" + std::to_string(gpu);
    shown["devices"].push_back({{"id", id}, {"kind", "gpu"}});
    shown["cables"].push_back({{"a", id}, {"b", "cpu0"}, {"kind", "pcie3"}, {"count", 1}, {"bandwidth_Bps", 1e9}});
    if (gpu > 0)
      shown["cables"].push_back({{"a", "gpu" + std::to_string(gpu - 1)},
                                 {"b", id},
                                 {"kind", "nvlink1"},
                                 {"count", 3},
                                 {"bandwidth_Bps", 7e9}});
  }
  return shown;
}

/// A number from 1 to 100 that has nothing to do with the query but is the same each time.
double scrambled(const Json& query, int seed) {
  const auto hash = std::hash<std::string>{}(query.dump() + std::to_string(seed));
  return 1 + static_cast<double>(hash % 9901) / 100;
}

validate::Answer wrong_world(const Json& machine, const std::function<double(const Json&)>& number) {
  return
      [machine, number](const Json& query) { return query.at("kind") == "show" ? machine : result_of(number(query)); };
}

/// Ids of the rows that fail in none of the worlds.
std::vector<std::string> never_failing(const std::vector<validate::Claim>& rows,
                                       const std::vector<validate::Answer>& worlds) {
  std::set<std::string> failed;
  for (const validate::Answer& world : worlds)
    for (const validate::ClaimResult& result : validate::evaluate(world, kData, rows))
      if (result.verdict == validate::ClaimVerdict::kFail) failed.insert(result.id);
  std::vector<std::string> left;
  for (const validate::Claim& claim : rows)
    if (!failed.count(claim.id)) left.push_back(claim.id);
  return left;
}

/// Every quantity of a predicate the same, or each one `step` times the one before in the order of names.
validate::Values made_up(const validate::Claim& claim, double first, double step) {
  validate::Values values;
  double next = first;
  for (const std::string& name : validate::variables_of(claim.predicate, claim.pointer)) {
    if (name == "tol" || name.rfind("expected", 0) == 0) continue;
    values[name] = next;
    next *= step;
  }
  return values;
}

}  // namespace

TEST_CASE("every statement of the five papers has exactly one row", "[paper]") {
  std::multiset<std::string> ids;
  for (const validate::Claim& claim : claims()) ids.insert(claim.id);
  const auto expected = expected_ids();
  CHECK(expected.size() == 321);
  CHECK(ids.size() == 321);
  CHECK(std::set<std::string>(ids.begin(), ids.end()) == expected);
}

TEST_CASE("every row says what it claims, and what is missing or how it is tested", "[paper]") {
  for (const validate::Claim& claim : claims()) {
    INFO(claim.id);
    CHECK(claim.statement.size() > 10);
    CHECK(claim.source.find("section") != std::string::npos);
    if (claim.not_modelled.empty())
      CHECK(claim.tolerance.why.size() > 10);
    else
      CHECK(claim.not_modelled.size() >= 20);
  }
}

TEST_CASE("every predicate is false for some numbers", "[paper]") {
  for (const validate::Claim& claim : modelled()) {
    INFO(claim.id << ": " << claim.predicate);
    const bool always = validate::holds(claim, made_up(claim, 1, 1)) && validate::holds(claim, made_up(claim, 0, 1)) &&
                        validate::holds(claim, made_up(claim, 10, 10)) &&
                        validate::holds(claim, made_up(claim, 0.1, 0.1));
    CHECK_FALSE(always);
  }
}

TEST_CASE("every row fails on some simulation of wrong numbers", "[paper]") {
  auto rows = modelled();
  for (validate::Claim& claim : rows) claim.data.reset();
  std::vector<validate::Answer> worlds = {wrong_world(wrong_machine(), [](const Json&) { return 3.0; })};
  for (int seed = 0; seed < 8; ++seed)
    worlds.push_back(wrong_world(wrong_machine(), [seed](const Json& query) { return scrambled(query, seed); }));
  CHECK(never_failing(rows, worlds) == std::vector<std::string>{});
}

TEST_CASE("every row about copies or collectives fails on the right wiring with wrong numbers", "[paper]") {
  catalogue::Catalogue catalogue(kData);
  std::vector<validate::Claim> rows;
  for (validate::Claim& claim : modelled()) {
    const bool runs =
        std::any_of(claim.quantities.begin(), claim.quantities.end(),
                    [](const validate::Observable& quantity) { return quantity.query.at("kind") != "show"; });
    claim.data.reset();
    if (runs) rows.push_back(claim);
  }
  const auto world = [&](const std::function<double(const Json&)>& number) -> validate::Answer {
    return [&catalogue, number](const Json& query) {
      return query.at("kind") == "show" ? query::answer(catalogue, query) : result_of(number(query));
    };
  };
  std::vector<validate::Answer> worlds = {world([](const Json&) { return 3.0; })};
  for (int seed = 0; seed < 8; ++seed)
    worlds.push_back(world([seed](const Json& query) { return scrambled(query, seed); }));
  CHECK(never_failing(rows, worlds) == std::vector<std::string>{});
}

TEST_CASE("a simulation that answers nothing fails every row with its error", "[paper]") {
  auto rows = modelled();
  for (validate::Claim& claim : rows) claim.data.reset();
  const auto dead = [](const Json&) { return Json{{"error", "out of order"}}; };
  for (const validate::ClaimResult& result : validate::evaluate(dead, kData, rows)) {
    INFO(result.id << ": " << result.why);
    CHECK(result.verdict == validate::ClaimVerdict::kFail);
  }
}

TEST_CASE("verdicts are those recorded in tests/paper/verdicts.json", "[paper]") {
  const Json recorded = read_json_file(kData + "/tests/paper/verdicts.json");
  catalogue::Catalogue catalogue(kData);
  const auto results = validate::evaluate(catalogue, claims());
  CHECK(recorded.size() == results.size());
  for (const validate::ClaimResult& result : results) {
    INFO(result.id << ": " << result.why);
    CHECK(recorded.value(result.id, "missing") == validate::to_text(result.verdict));
    if (result.verdict != validate::ClaimVerdict::kNotModelled) CHECK_FALSE(result.why.empty());
    const bool missed =
        result.role == validate::Role::kPredicted &&
        (result.verdict == validate::ClaimVerdict::kFail || result.verdict == validate::ClaimVerdict::kRefutedByData);
    CHECK(result.cause.empty() != missed);
  }
}

}  // namespace linkcast::test::claims_test
