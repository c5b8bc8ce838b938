#include "validate/claim.hpp"

#include <fmt/format.h>
#include <muParser.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "sim/base/input_error.hpp"
#include "sim/base/text.hpp"
#include "validate/reduce.hpp"

namespace linkcast::validate {
namespace {

std::string one_line(const mu::Parser::exception_type& error, const std::string& expression) {
  return error.GetMsg() + " in \"" + expression + "\"";
}

}  // namespace

std::set<std::string> variables_of(const std::string& expression, const std::string& where) {
  try {
    mu::Parser parser;
    parser.SetExpr(expression);
    std::set<std::string> names;
    for (const auto& [name, address] : parser.GetUsedVar()) names.insert(name);
    return names;
  } catch (const mu::Parser::exception_type& error) {
    throw InputError(where + ": " + one_line(error, expression));
  }
}

double number_of(const std::string& expression, const Values& values, const std::string& where) {
  std::string known;
  for (const auto& [name, value] : values) known += (known.empty() ? "" : ", ") + name;
  for (const std::string& name : variables_of(expression, where))
    if (!values.count(name)) throw InputError(where + ": '" + name + "' is no quantity: one of " + known);
  try {
    mu::Parser parser;
    for (const auto& [name, value] : values) parser.DefineConst(name, value);
    parser.SetExpr(expression);
    return parser.Eval();
  } catch (const mu::Parser::exception_type& error) {
    throw InputError(where + ": " + one_line(error, expression));
  }
}

bool truth_of(const std::string& expression, const Values& values, const std::string& where) {
  const double value = number_of(expression, values, where);
  if (value != 0 && value != 1) throw InputError(where + ": \"" + expression + "\" is neither true nor false");
  return value == 1;
}

struct Expression::Parser {
  mu::Parser parser;
};

Expression::Expression(const std::string& expression, Values values, const std::string& where)
    : values_(std::move(values)), parser_(std::make_unique<Parser>()) {
  truth_of(expression, values_, where);
  for (auto& [name, value] : values_) parser_->parser.DefineVar(name, &value);
  parser_->parser.SetExpr(expression);
}

Expression::~Expression() = default;

void Expression::set(const std::string& name, double value) { values_.at(name) = value; }

bool Expression::is_true() const { return parser_->parser.Eval() == 1; }

namespace {

std::vector<std::string> text_or_list(ObjectReader& r, const std::string& key) {
  if (!r.has(key)) return {};
  if (r.raw(key).is_string()) return {r.required<std::string>(key)};
  return r.required<std::vector<std::string>>(key);
}

void read_generator(ObjectReader r, Domain& domain) {
  if (r.has("pairs")) {
    domain.kind = Domain::Kind::kPairs;
    domain.pair_class = read_spelled<PairClass>(r, "pairs");
    domain.among = r.optional<std::vector<int>>("among").value_or(std::vector<int>{});
    if (domain.variables.size() != 2) r.fail("pairs", "binds two variables, e.g. \"src,dst\"");
  } else if (r.has("relays")) {
    domain.kind = Domain::Kind::kRelays;
    domain.lowest = r.choice("relays", {"lowest", "all"}) == "lowest";
    if (domain.variables.size() != 3) r.fail("relays", "binds three variables, e.g. \"src,via,dst\"");
  } else {
    domain.kind = Domain::Kind::kFirstGpus;
    domain.values = r.required<std::vector<int>>("first_gpus");
    if (domain.variables.size() != 1) r.fail("first_gpus", "binds one variable");
  }
  r.finish();
}

Domain read_domain(ObjectReader& over, const std::string& key) {
  Domain domain;
  domain.variables = split(key, ',');
  const Json& value = over.raw(key);
  if (value.is_object()) {
    read_generator(over.object(key), domain);
    return domain;
  }
  if (!value.is_array() || value.size() < 2) over.fail(key, "must be an array of at least two values, or a generator");
  for (const Json& item : value)
    if (domain.variables.size() > 1 && (!item.is_array() || item.size() != domain.variables.size()))
      over.fail(key, "each item must be an array with one value per variable");
  domain.values = value;
  return domain;
}

Structure read_structure(ObjectReader r) {
  Structure structure;
  structure.measure = read_spelled<Measure>(r, "measure");
  structure.links = r.optional<int>("links");
  structure.cable = r.optional<std::string>("cable").value_or("");
  structure.among = r.optional<std::vector<int>>("among").value_or(std::vector<int>{});
  if (structure.links.has_value() != (structure.measure == Measure::kCycleSizes))
    r.fail("links", "belongs to cycle_sizes");
  if (structure.cable.empty() == (structure.measure == Measure::kCableBandwidth))
    r.fail("cable", "belongs to cable_bandwidth");
  r.finish();
  return structure;
}

void read_reduce(ObjectReader& r, Observable& quantity) {
  quantity.reduce = text_or_list(r, "reduce");
  const std::size_t levels = quantity.over.size() + (quantity.structure ? 1 : 0);
  if (quantity.reduce.size() != levels)
    r.fail("reduce", fmt::format("needs {} reducers: one per variable of over, one for a structure", levels));
  for (std::size_t i = 0; i < levels; ++i) {
    const bool known =
        quantity.reduce[i] == kNoReducer ? i == 0 && !quantity.over.empty() : is_reducer(quantity.reduce[i]);
    if (!known)
      throw InputError(r.file(), fmt::format("{}/{}", r.pointer("reduce"), i),
                       "unknown reducer '" + quantity.reduce[i] + "' (none: only first)");
  }
}

Observable read_quantity(const std::string& name, ObjectReader r) {
  Observable quantity;
  quantity.name = name;
  quantity.query = r.raw("query");
  if (!quantity.query.is_object() || !quantity.query.contains("platform") || !quantity.query.contains("kind"))
    r.fail("query", "must be an object with platform and kind");
  if (r.has("over")) {
    ObjectReader over = r.object("over");
    for (const auto& item : r.raw("over").items()) quantity.over.push_back(read_domain(over, item.key()));
    over.finish();
  }
  if (auto structure = r.optional_object("structure")) quantity.structure = read_structure(*structure);
  quantity.key = r.optional<std::string>("key").value_or("");
  if (quantity.key.empty() == !quantity.structure) r.fail("key", "exactly one of key and structure is needed");
  quantity.equals = r.optional<std::string>("equals");
  quantity.contains = r.optional<std::string>("contains");
  if (quantity.equals && quantity.contains) r.fail("contains", "and equals exclude each other");
  quantity.exists = r.optional<bool>("exists").value_or(false);
  if (r.has("relative_to")) {
    quantity.relative_to = r.raw("relative_to");
    if (!quantity.relative_to.is_object() || quantity.relative_to.empty() || quantity.structure || quantity.exists)
      r.fail("relative_to", "must be an object of query keys, for a quantity with a number under its key");
  }
  read_reduce(r, quantity);
  r.finish();
  return quantity;
}

ClaimData read_data(ObjectReader r) {
  ClaimData data;
  data.files = r.required<std::vector<std::string>>("files");
  if (data.files.empty()) r.fail("files", "names no measurement");
  data.predicate = r.optional<std::string>("predicate").value_or("");
  data.why = r.required<std::string>("why");
  r.finish();
  return data;
}

Role read_role(ObjectReader& r) {
  const std::string name =
      r.choice("role", {to_text(Role::kModelInput), to_text(Role::kFitted), to_text(Role::kPredicted)});
  for (const Role role : {Role::kModelInput, Role::kFitted})
    if (name == to_text(role)) return role;
  return Role::kPredicted;
}

Tolerance read_tolerance(ObjectReader r) {
  Tolerance tolerance{r.optional<double>("value"), r.required<std::string>("why")};
  if (tolerance.why.size() < 10) r.fail("why", "a tolerance needs its reason");
  r.finish();
  return tolerance;
}

/// A day as 2026-11-23: sorts by date as text.
bool is_day(const std::string& text) {
  const std::string shape = "0000-00-00";
  if (text.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  return true;
}

EarlierReading read_earlier(ObjectReader& r) {
  static const std::set<std::string> kParts = {"role", "predicate", "tolerance", "expected", "quantities"};
  EarlierReading earlier{r.required<std::string>("date"), r.raw("was"),
                         r.choice("verdict", {"pass", "fail", "refuted-by-data", "not-modelled"}),
                         r.required<std::string>("why")};
  if (!is_day(earlier.date)) r.fail("date", "must be a day, as 2026-11-23");
  if (!earlier.was.is_object() || earlier.was.empty()) r.fail("was", "must give what changed, as it was");
  for (const auto& part : earlier.was.items())
    if (kParts.count(part.key()) == 0) r.fail("was", "has '" + part.key() + "', which is no part of a reading");
  if (earlier.why.size() < 20) r.fail("why", "must give the reason, in 20 characters or more");
  r.finish();
  return earlier;
}

std::vector<EarlierReading> read_history(ObjectReader& r) {
  std::vector<EarlierReading> history;
  if (!r.has("history")) return history;
  for (ObjectReader& entry : r.objects("history")) {
    history.push_back(read_earlier(entry));
    if (history.size() > 1 && history.back().date < history[history.size() - 2].date)
      r.fail("history", "is not in the order of its dates");
  }
  return history;
}

void check_predicate(ObjectReader& r, const Claim& claim) {
  const auto used = variables_of(claim.predicate, claim.pointer + "/predicate");
  if ((used.count("tol") > 0) != claim.tolerance.value.has_value())
    r.fail("tolerance", "has a value exactly when the predicate uses tol");
  const bool quantity_used = std::any_of(used.begin(), used.end(), [](const std::string& name) {
    return name != "tol" && name.rfind("expected", 0) != 0;
  });
  if (!quantity_used) r.fail("predicate", "uses no quantity: it could not fail");
}

void read_setup(ObjectReader& r, Claim& claim) {
  ObjectReader quantities = r.object("quantities");
  for (auto& [name, quantity] : quantities.named_objects()) claim.quantities.push_back(read_quantity(name, quantity));
  if (claim.quantities.empty()) r.fail("quantities", "is empty");
  claim.predicate = r.required<std::string>("predicate");
  claim.predicted = text_or_list(r, "predicted");
  if (claim.predicted.empty()) r.fail("predicted", "must give at least one expression");
  claim.expected = r.raw("expected");
  claim.unit = r.required<std::string>("unit");
  claim.predicted_unit = r.optional<std::string>("predicted_unit").value_or(claim.unit);
  claim.tolerance = read_tolerance(r.object("tolerance"));
  if (auto data = r.optional_object("data")) claim.data = read_data(*data);
  claim.note = r.optional<std::string>("note").value_or("");
  claim.history = read_history(r);
  if (r.has("counterexample")) claim.counterexample = r.raw("counterexample");
  if (!claim.counterexample.is_null() && (!claim.counterexample.is_object() || claim.counterexample.empty()))
    r.fail("counterexample", "must be an object of query keys");
  check_predicate(r, claim);
}

Claim read_claim(ObjectReader r, const std::string& paper) {
  Claim claim;
  claim.pointer = r.file() + ":" + r.pointer();
  claim.paper = paper;
  claim.id = r.required<std::string>("id");
  claim.section = r.required<std::string>("section");
  claim.system = r.required<std::string>("system");
  claim.kind = r.choice("kind", {"quantitative", "ordering", "shape"});
  claim.claim_class = r.required<std::string>("class");
  claim.role = read_role(r);
  if (r.has("cause")) claim.cause = r.choice("cause", {"model", "data", "reading", "paper"});
  claim.statement = r.required<std::string>("statement");
  claim.source = r.required<std::string>("source");
  if (r.has("not_modelled")) {
    claim.not_modelled = r.required<std::string>("not_modelled");
    if (claim.not_modelled.size() < 20) r.fail("not_modelled", "must say what is missing, in 20 characters or more");
    claim.expected = r.raw("expected");
    claim.unit = r.required<std::string>("unit");
  } else {
    read_setup(r, claim);
  }
  r.finish();
  return claim;
}

}  // namespace

const std::string& to_text(Role role) {
  static const std::vector<std::string> names = {"model input", "fitted", "predicted"};
  return names.at(static_cast<std::size_t>(role));
}

std::vector<Claim> read_claims(const std::string& path) {
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  r.schema("claims/1");
  const auto paper = r.required<std::string>("paper");
  r.required<std::string>("title");
  std::vector<Claim> claims;
  for (ObjectReader& row : r.objects("claims")) claims.push_back(read_claim(row, paper));
  r.finish();
  return claims;
}

std::vector<Claim> load_claims(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  if (error || paths.empty()) throw InputError(folder + ": no folder with claims (*.json)");
  std::sort(paths.begin(), paths.end());
  std::vector<Claim> claims;
  std::set<std::string> ids;
  for (const std::string& path : paths)
    for (Claim& claim : read_claims(path)) {
      if (!ids.insert(claim.id).second) throw InputError(claim.pointer + ": claim '" + claim.id + "' appears twice");
      claims.push_back(std::move(claim));
    }
  return claims;
}

namespace {

std::vector<Claim> of_classes(const std::vector<Claim>& all, const std::vector<std::string>& classes) {
  for (const std::string& name : classes)
    if (std::none_of(all.begin(), all.end(), [&](const Claim& claim) { return claim.claim_class == name; }))
      throw InputError("class: no claim is of class '" + name + "'");
  std::vector<Claim> chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](const Claim& claim) {
    return std::find(classes.begin(), classes.end(), claim.claim_class) != classes.end();
  });
  return chosen;
}

/// @param start  of the paper's name, e.g. 001
std::vector<Claim> of_paper(const std::vector<Claim>& all, const std::string& start) {
  std::vector<Claim> chosen;
  std::set<std::string> papers;
  for (const Claim& claim : all) {
    papers.insert(claim.paper);
    if (claim.paper.starts_with(start)) chosen.push_back(claim);
  }
  const auto differs = [&](const Claim& claim) { return claim.paper != chosen.front().paper; };
  if (!start.empty() && !chosen.empty() && std::none_of(chosen.begin(), chosen.end(), differs)) return chosen;
  std::string known;
  for (const std::string& paper : papers) known += (known.empty() ? "" : ", ") + paper;
  throw InputError("paper: '" + start + "' is the start of no single paper, one of " + known);
}

}  // namespace

std::vector<Claim> chosen_claims(const std::string& data_dir, const ClaimChoice& choice) {
  std::vector<Claim> all = load_claims(data_dir + "/validate/claims");
  if (!choice.paper.empty()) all = of_paper(all, choice.paper);
  if (!choice.classes.empty()) all = of_classes(all, choice.classes);
  if (choice.ids.empty()) return all;
  std::vector<Claim> chosen;
  for (const std::string& id : choice.ids) {
    const auto it = std::find_if(all.begin(), all.end(), [&](const Claim& claim) { return claim.id == id; });
    if (it == all.end()) throw InputError("validate: unknown claim '" + id + "', see 'linkcast list claims'");
    chosen.push_back(*it);
  }
  return chosen;
}

}  // namespace linkcast::validate
