#include "validate/strength.hpp"

#include <cmath>
#include <cstdio>
#include <set>

namespace linkcast::validate {
namespace {

constexpr double kFinest = 1e-5;  // source: finer than any figure that a paper prints
constexpr double kStride = 1.12;  // source: of the search outwards; the end is bisected
constexpr int kHalvings = 20;     // source: 2^-20 of a stride is far below a printed digit

/// Keys name their unit; one without is a count, a list or a place.
bool has_unit(const std::string& key) {
  const auto at = key.rfind('_');
  return at != std::string::npos && (key.substr(at) == "_s" || key.substr(at) == "_Bps" || key.substr(at) == "_B");
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
      const bool part =
          !quantity.reduce.empty() && quantity.reduce[0] == "none" && name.starts_with(quantity.name + "_");
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

}  // namespace linkcast::validate
