#include "validate/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "sim/base/in_order.hpp"
#include "sim/base/limits.hpp"
#include "sim/query/query.hpp"
#include "validate/measured_query.hpp"
#include "validate/reduce.hpp"

namespace linkcast::validate {
namespace {

constexpr double kFinest = 1e-5;  // source: finer than any figure that a paper prints
constexpr double kStride = 1.12;  // source: of the search outwards; the end is bisected
constexpr int kHalvings = 20;     // source: 2^-20 of a stride is far below a printed digit

/// Keys name their unit; one without is a count, a list or a place.
bool has_unit(const std::string& key) {
  const auto at = key.rfind('_');
  static const std::set<std::string> kUnits{"_s", "_Bps", "_B"};
  return at != std::string::npos && kUnits.count(key.substr(at)) > 0;
}

/// Wiring, places, yes or no: a share of them means nothing.
bool is_discrete(const Observable& quantity) {
  static const std::set<std::string> counting = {"count", "argmin", "argmax", "rising", "rank"};
  if (quantity.equals || quantity.contains || quantity.exists || !has_unit(quantity.key)) return true;
  for (const std::string& name : quantity.reduce)
    if (counting.count(name) > 0 || name.starts_with("from_")) return true;
  return false;
}

std::set<std::string> continuous_names(const Claim& claim, const Values& values) {
  std::set<std::string> names;
  for (const std::string& name : variables_of(claim.predicate, claim.pointer + "/predicate"))
    for (const Observable& quantity : claim.quantities) {
      const bool whole = name == quantity.name;
      const bool part = quantity.one_per_value() && name.starts_with(quantity.name + "_");
      if ((whole || part) && !is_discrete(quantity) && values.count(name) > 0 && std::isfinite(values.at(name)))
        names.insert(name);
    }
  return names;
}

/// The least change to one side that turns the verdict. @param up  multiply by 1 + change, else divide by it
std::optional<double> turning(Expression& predicate, const std::string& name, double value, bool up, double most) {
  const bool before = predicate.is_true();
  const auto turned = [&](double change) {
    predicate.set(name, up ? value * (1 + change) : value / (1 + change));
    return predicate.is_true() != before;
  };
  std::optional<double> found;
  double last = 0;
  for (double change = kFinest; change < most && !found; change *= kStride) {
    if (turned(change))
      found = change;
    else
      last = change;
  }
  for (int i = 0; found && i < kHalvings; ++i) {
    const double middle = (last + *found) / 2;
    (turned(middle) ? *found : last) = middle;
  }
  predicate.set(name, value);
  return found;
}

}  // namespace

Strength strength_of(const Claim& claim, const Values& values) {
  Expression predicate(claim.predicate, values, claim.pointer + "/predicate");
  Strength strength;
  for (const std::string& name : continuous_names(claim, values))
    for (const bool up : {true, false}) {
      const double best = strength.margin.value_or(kMostFactor - 1);
      // downwards a change divides, and takes the share change / (1 + change) away
      const double most = up ? best : best < 1 ? best / (1 - best) : kMostFactor - 1;
      const auto change = turning(predicate, name, values.at(name), up, most);
      if (!change) continue;
      const double share = up ? *change : *change / (1 + *change);
      if (share >= best) continue;
      strength.margin = share;
      strength.quantity = name;
    }
  return strength;
}

std::string to_text(const Strength& strength) {
  if (!strength.margin) return "counts";
  constexpr double kLeast = 0.001, kWhole = 10;  // per cent; source: ours, of print
  const double percent = 100 * *strength.margin;
  if (percent < kLeast) return "below 0.001 %";
  char text[32];
  std::snprintf(text, sizeof text, percent < kWhole ? "%.2g %%" : "%.0f %%", percent);
  return text;
}

namespace {

using Bindings = std::map<std::string, Json>;

/// One value of a Domain: what its variables become, and the label that reducers and names use.
struct Choice {
  Bindings bindings;
  double label = 0;
};

std::string plain(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// "{x}" alone becomes the value itself; inside a longer text it becomes text.
Json filled(const Json& form, const Bindings& bindings) {
  if (form.is_string()) {
    auto text = form.get<std::string>();
    for (const auto& [name, value] : bindings) {
      const std::string place = "{" + name + "}";
      if (text == place) return value;
      for (auto at = text.find(place); at != std::string::npos; at = text.find(place, at))
        text.replace(at, place.size(), plain(value));
    }
    return text;
  }
  if (!form.is_structured()) return form;
  Json out = form;
  for (auto& item : out) item = filled(item, bindings);
  return out;
}

Json gpu_id(int gpu) { return fmt::format("gpu{}", gpu); }

std::vector<Choice> values_of(const Domain& domain) {
  std::vector<Choice> choices;
  for (const Json& item : domain.values) {
    Choice choice{{}, item.is_number_integer() ? item.get<double>() : static_cast<double>(choices.size())};
    if (domain.variables.size() == 1)
      choice.bindings[domain.variables[0]] = item;
    else
      for (std::size_t i = 0; i < domain.variables.size(); ++i) choice.bindings[domain.variables[i]] = item.at(i);
    choices.push_back(choice);
  }
  return choices;
}

std::vector<Choice> first_gpus(const Domain& domain) {
  std::vector<Choice> choices;
  for (const Json& count : domain.values) {
    Json gpus = Json::array();
    for (int gpu = 0; gpu < count.get<int>(); ++gpu) gpus.push_back(gpu);
    choices.push_back({{{domain.variables[0], gpus}}, count.get<double>()});
  }
  return choices;
}

std::vector<Choice> pairs_of(const Domain& domain, const Wiring& wiring) {
  std::vector<Choice> choices;
  const bool relays = domain.kind == Domain::Kind::kRelays;
  for (const auto& [a, b] : wiring.pairs(relays ? PairClass::kNoNvlink : domain.pair_class, domain.among)) {
    if (!relays) {
      choices.push_back({{{domain.variables[0], gpu_id(a)}, {domain.variables[1], gpu_id(b)}}, 0});
      continue;
    }
    auto vias = wiring.relays(a, b);
    if (domain.lowest && vias.size() > 1) vias.resize(1);
    for (const int via : vias)
      choices.push_back(
          {{{domain.variables[0], gpu_id(a)}, {domain.variables[1], gpu_id(via)}, {domain.variables[2], gpu_id(b)}},
           0});
  }
  for (std::size_t i = 0; i < choices.size(); ++i) choices[i].label = static_cast<double>(i);
  return choices;
}

/// Down objects by key and lists by the "name" or "id" of their items; nullptr if there is no such place.
const Json* at_path(const Json& result, const std::string& path) {
  const Json* at = &result;
  std::istringstream parts(path);
  for (std::string part; at && std::getline(parts, part, '.');) {
    const Json* next = nullptr;
    if (at->is_object() && at->contains(part)) next = &at->at(part);
    if (at->is_array())
      for (const Json& item : *at)
        if (item.is_object() && item.value("name", item.value("id", "")) == part) next = &item;
    at = next;
  }
  return at;
}

std::string suffix(double label) { return fmt::format("_{}", static_cast<long long>(label)); }

/// The recursion over a quantity's variables.
class Sample {
 public:
  Sample(const Observable& quantity, Sampler& sampler, std::string where)
      : quantity_(&quantity), sampler_(&sampler), where_(std::move(where)) {}

  Values run() {
    if (quantity_->over.empty() || !quantity_->one_per_value()) return {{quantity_->name, reduced(0, {})}};
    Values values;
    for (const Choice& choice : choices(0, {}))
      values[quantity_->name + suffix(choice.label)] = reduced(1, choice.bindings);
    return values;
  }

 private:
  std::vector<Choice> choices(std::size_t level, const Bindings& outer) {
    const Domain& domain = quantity_->over[level];
    if (domain.kind == Domain::Kind::kValues) return values_of(domain);
    if (domain.kind == Domain::Kind::kFirstGpus) return first_gpus(domain);
    return pairs_of(domain, sampler_->wiring(plain(filled(quantity_->query.at("platform"), outer))));
  }

  double reduced(std::size_t level, const Bindings& outer) {
    if (level == quantity_->over.size()) return value_at(outer);
    std::vector<Labelled> points;
    for (const Choice& choice : choices(level, outer)) {
      Bindings bindings = outer;
      bindings.insert(choice.bindings.begin(), choice.bindings.end());
      points.push_back({choice.label, reduced(level + 1, bindings)});
    }
    return in_place(level, points);
  }

  double in_place(std::size_t level, const std::vector<Labelled>& points) const {
    if (points.empty()) throw SimulationError(quantity_->name + ": the machine has no pair or device of that class");
    return reduce(quantity_->reduce[level], points);
  }

  double value_at(const Bindings& bindings) {
    const Json query = filled(quantity_->query, bindings);
    const double value = value_of(query, bindings);
    if (quantity_->relative_to.is_null()) return value;
    Json other = query;
    other.update(filled(quantity_->relative_to, bindings));
    return value / value_of(other, bindings);
  }

  double value_of(const Json& query, const Bindings& bindings) {
    const Json& result = answered(query);
    const Json* found = at_path(result, quantity_->key);
    if (quantity_->exists) return found ? 1 : 0;
    if (result.contains("error"))
      throw SimulationError(result["error"].get<std::string>() + " (query " + query.dump() + ")");
    if (quantity_->structure) return in_place(quantity_->reduce.size() - 1, structure_points(query, result));
    if (!found) throw SimulationError("the result has no key '" + quantity_->key + "' (query " + query.dump() + ")");
    return number(*found, bindings);
  }

  const Json& answered(const Json& query) {
    try {
      return sampler_->ask(query);
    } catch (const InputError& error) {
      throw InputError(where_ + ": " + error.what());
    }
  }

  double number(const Json& value, const Bindings& bindings) const {
    if (quantity_->equals) return value == *quantity_->equals ? 1 : 0;
    if (quantity_->contains) return listed(value, filled(*quantity_->contains, bindings));
    if (value.is_number()) return value.get<double>();
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    if (value.is_array()) return static_cast<double>(value.size());
    throw InputError(where_ + ": key '" + quantity_->key + "' is text: compare it with equals");
  }

  double listed(const Json& list, const Json& text) const {
    if (!list.is_array()) throw InputError(where_ + ": key '" + quantity_->key + "' is no list: contains needs one");
    return std::find(list.begin(), list.end(), text) != list.end() ? 1 : 0;
  }

  std::vector<Labelled> structure_points(const Json& query, const Json& result) {
    const Structure& structure = *quantity_->structure;
    const Wiring& wiring = sampler_->wiring(plain(query.at("platform")));
    const bool fewest = structure.measure == Measure::kRingMinLinks;
    const bool ring = fewest || structure.measure == Measure::kRingMaxLinks;
    if (ring && !result.contains("channels"))
      throw InputError(where_ + ": " + structure.measure.name() + " needs kind rings");
    const auto numbers = ring ? wiring.ring_links(result["channels"], fewest) : wiring.measure(structure);
    std::vector<Labelled> points;
    for (const double value : numbers) points.push_back({static_cast<double>(points.size()), value});
    return points;
  }

  const Observable* quantity_;
  Sampler* sampler_;
  std::string where_;
};

/// Papers do not describe their hosts, and their libraries' latencies hold what issued the calls: unless a row says
/// otherwise it is of the devices alone.
Json of_devices(Json query) {
  if (asks_collective(query) && !query.contains("launch")) query["launch"] = "graph";
  return query;
}

}  // namespace

const Json& Sampler::ask(const Json& query) {
  const std::string key = query.dump();
  const auto known = answers_.find(key);
  return known != answers_.end() ? known->second : answers_.emplace(key, answer_(of_devices(query))).first->second;
}

const Wiring& Sampler::wiring(const std::string& platform) {
  const auto known = wirings_.find(platform);
  if (known != wirings_.end()) return known->second;
  const Json& shown = ask({{"platform", platform}, {"kind", "show"}});
  if (shown.contains("error")) throw SimulationError(shown["error"].get<std::string>());
  return wirings_.emplace(platform, Wiring(shown)).first->second;
}

Values Sampler::sample(const Observable& quantity, const std::string& where) {
  return Sample(quantity, *this, where + "/quantities/" + quantity.name).run();
}

Values quantities_of(const Claim& claim, Sampler& sampler) {
  Values values;
  for (const Observable& quantity : claim.quantities) {
    Values sampled = sampler.sample(quantity, claim.pointer);
    values.merge(sampled);
    if (!sampled.empty())
      throw InputError(claim.pointer + "/quantities: '" + sampled.begin()->first + "' has two meanings");
  }
  return values;
}

Values quantities_of(const Claim& claim, const Answer& answer) {
  Sampler sampler(answer);
  return quantities_of(claim, sampler);
}

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
  if (!quantity.one_per_value()) return false;
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
