#include "validate/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "validate/reduce.hpp"

namespace linkcast::validate {
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
  for (const auto& [a, b] : wiring.pairs(relays ? "no_nvlink" : domain.pair_class, domain.among)) {
    if (!relays) {
      choices.push_back({{{domain.variables[0], gpu_id(a)}, {domain.variables[1], gpu_id(b)}}, 0});
      continue;
    }
    auto vias = wiring.relays(a, b);
    if (domain.pair_class == "lowest" && vias.size() > 1) vias.resize(1);
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
    if (quantity_->over.empty() || quantity_->reduce[0] != "none") return {{quantity_->name, reduced(0, {})}};
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
    const bool ring = structure.measure.starts_with("ring_");
    if (ring && !result.contains("channels")) throw InputError(where_ + ": " + structure.measure + " needs kind rings");
    const auto numbers =
        ring ? wiring.ring_links(result["channels"], structure.measure == "ring_min_links") : wiring.measure(structure);
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
  if (query.value("kind", "") == "collective" && !query.contains("launch")) query["launch"] = "graph";
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

}  // namespace linkcast::validate
