#include "validate/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>

#include "sim/base/estimate.hpp"
#include "sim/base/in_order.hpp"
#include "sim/query/query.hpp"
#include "validate/measured_answer.hpp"
#include "validate/sampling.hpp"

namespace linkcast::validate {
namespace {

/// Adds `tol` and the row's own expected numbers.
Values with_constants(const Claim& claim, Values values) {
  if (claim.tolerance.value) values["tol"] = *claim.tolerance.value;
  if (claim.expected.is_number()) values["expected"] = claim.expected.get<double>();
  if (claim.expected.is_array())
    for (std::size_t i = 0; i < claim.expected.size(); ++i)
      if (claim.expected[i].is_number()) values[fmt::format("expected_{}", i)] = claim.expected[i].get<double>();
  return values;
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(const Values& values) {
  Json out = Json::object();
  for (const auto& [name, value] : values) out[name] = number_or_null(value);
  return out;
}

Json predicted_of(const Claim& claim, const Values& values) {
  Json numbers = Json::array();
  for (const std::string& expression : claim.predicted)
    numbers.push_back(
        number_or_null(number_of(expression, with_constants(claim, values), claim.pointer + "/predicted")));
  return {{"value", numbers.size() == 1 ? numbers[0] : numbers},
          {"unit", claim.predicted_unit},
          {"names", claim.predicted},
          {"quantities", to_json(values)}};
}

std::string listed(const std::string& predicate, const Values& values, const Claim& claim) {
  const auto used = variables_of(predicate, claim.pointer + "/predicate");
  std::string text = "\"" + predicate + "\" with ";
  bool first = true;
  for (const auto& [name, value] : with_constants(claim, values)) {
    if (!used.count(name)) continue;
    char number[32];
    std::snprintf(number, sizeof number, "%.4g", value);
    text += (first ? "" : ", ") + name + " = " + number;
    first = false;
  }
  return text;
}

/// True if one of the names is the quantity's, or with reduce "none" one of its name_<value>.
bool feeds(const Observable& quantity, const std::set<std::string>& names) {
  if (names.count(quantity.name)) return true;
  if (quantity.reduce.empty() || quantity.reduce[0] != "none") return false;
  const std::string prefix = quantity.name + "_";
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return name.starts_with(prefix); });
}

/// Evaluates the row's predicate on the measurements it names.
class DataCheck {
 public:
  DataCheck(Answer answer, std::string data_dir) : answer_(std::move(answer)), data_dir_(std::move(data_dir)) {}

  /// @return  whether the predicate holds on the data; fills measured and, if it does not hold, why
  bool holds(const Claim& claim, ClaimResult& result) {
    const ClaimData& data = *claim.data;
    const std::string& predicate = data.predicate.empty() ? claim.predicate : data.predicate;
    std::vector<Measurement> measurements;
    for (const std::string& file : data.files) measurements.push_back(read_measurement(data_dir_ + "/" + file));
    Sampler sampler(measured_answer(std::move(measurements), answer_));
    const auto used = variables_of(predicate, claim.pointer + "/data/predicate");
    Values values;
    for (const Observable& quantity : claim.quantities)
      if (feeds(quantity, used)) values.merge(sampler.sample(quantity, claim.pointer + "/data"));
    const bool true_on_data = truth_of(predicate, with_constants(claim, values), claim.pointer + "/data/predicate");
    result.measured = {{"holds", true_on_data}, {"quantities", to_json(values)}, {"files", data.files}};
    if (!true_on_data) result.why = "measured: " + listed(predicate, values, claim) + " is false; " + data.why;
    return true_on_data;
  }

 private:
  Answer answer_;
  std::string data_dir_;
};

void simulate(const Claim& claim, Sampler& sampler, ClaimResult& result) {
  try {
    const Values values = quantities_of(claim, sampler);
    result.predicted = predicted_of(claim, values);
    const bool true_in_simulation = holds(claim, values);
    result.verdict = true_in_simulation ? ClaimVerdict::kPass : ClaimVerdict::kFail;
    result.why = listed(claim.predicate, values, claim) + (true_in_simulation ? " holds" : " is false");
    result.strength = strength_of(claim, with_constants(claim, values));
  } catch (const SimulationError& error) {
    result.verdict = ClaimVerdict::kFail;
    result.why = std::string("no prediction: ") + error.what();
  }
  if (!claim.note.empty()) result.why += "; " + claim.note;
}

ClaimResult evaluate_one(const Claim& claim, Sampler& sampler, DataCheck& data) {
  ClaimResult result{claim.id,
                     claim.paper,
                     claim.statement,
                     ClaimVerdict::kNotModelled,
                     {{"value", claim.expected}, {"unit", claim.unit}},
                     nullptr,
                     nullptr,
                     claim.not_modelled,
                     claim.note,
                     claim.role,
                     claim.cause,
                     {}};
  if (!claim.not_modelled.empty()) return result;
  simulate(claim, sampler, result);
  if (claim.data && !data.holds(claim, result)) result.verdict = ClaimVerdict::kRefutedByData;
  return result;
}

}  // namespace

const std::string& to_text(ClaimVerdict verdict) {
  static const std::vector<std::string> names = {"pass", "fail", "refuted-by-data", "not-modelled"};
  return names.at(static_cast<std::size_t>(verdict));
}

bool holds(const Claim& claim, const Values& quantities) {
  return truth_of(claim.predicate, with_constants(claim, quantities), claim.pointer + "/predicate");
}

std::vector<ClaimResult> evaluate(const Answer& answer, const std::string& data_dir, const std::vector<Claim>& claims,
                                  log::Progress* progress) {
  Sampler sampler(answer);
  DataCheck data(answer, data_dir);
  std::vector<ClaimResult> results;
  log::NoProgress none;
  log::Work work(progress != nullptr ? *progress : none, "validate", "claims",
                 static_cast<std::int64_t>(claims.size()));
  work::Rounds rounds("validate", "claims", static_cast<std::int64_t>(claims.size()));
  for (const Claim& claim : claims) {
    results.push_back(evaluate_one(claim, sampler, data));
    work.advance(static_cast<std::int64_t>(results.size()));
    rounds.done(static_cast<std::int64_t>(results.size()));
  }
  return results;
}

std::vector<ClaimResult> evaluate(catalogue::Catalogue& catalogue, const std::vector<Claim>& claims) {
  return evaluate([&catalogue](const Json& query) { return query::answer(catalogue, query); }, catalogue.data_dir(),
                  claims, &catalogue.progress());
}

std::vector<ClaimResult> evaluate(const std::string& data_dir, const std::vector<Claim>& claims, std::size_t threads,
                                  log::Progress& progress) {
  struct Worker {
    explicit Worker(const std::string& folder)
        : catalogue(folder),
          answer([this](const Json& query) { return query::answer(catalogue, query); }),
          sampler(answer),
          data(answer, folder) {}
    catalogue::Catalogue catalogue;
    Answer answer;
    Sampler sampler;
    DataCheck data;
    std::optional<work::Rounds> rounds{};  // of its thread's time
    std::int64_t done = 0;
  };
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::size_t i = 0; i < threads; ++i) workers.push_back(std::make_unique<Worker>(data_dir));
  std::vector<ClaimResult> results;
  const auto count = static_cast<std::int64_t>(claims.size());
  log::Work work(progress, "validate", "claims", count);
  work::InOrder pieces(threads);
  for (const Claim& claim : claims)
    pieces.add([&, threads](std::size_t thread) {
      Worker& own = *workers[thread];
      if (!own.rounds) own.rounds.emplace("validate", "claims", count / static_cast<std::int64_t>(threads) + 1);
      auto result = std::make_shared<ClaimResult>(evaluate_one(claim, own.sampler, own.data));
      own.rounds->done(++own.done);
      return [&results, &work, result] {
        results.push_back(std::move(*result));
        work.advance(static_cast<std::int64_t>(results.size()));
      };
    });
  pieces.finish();
  return results;
}

}  // namespace linkcast::validate
