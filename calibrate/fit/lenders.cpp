// Which machine lends what: the first that fitted it itself, and for what belongs to the host the one with the same
// host.
#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/fit/fit_context.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::fit {
namespace {

/// Parameters of the ways to and through host memory.
bool is_of_host(const std::string& name) {
  const ParameterName parts(name);
  if (parts.of() == ParameterOf::kTransport) return parts.transport() == "staged";
  const CableKind* kind = parts.of() == ParameterOf::kCable ? find_cable_kind(std::string(parts.subject)) : nullptr;
  return kind != nullptr && (kind->family == CableFamily::kPcie || kind->family == CableFamily::kSocket);
}

bool is_of_transport(const std::string& name, const std::string& transport) {
  return ParameterName(name).transport() == transport;
}

}  // namespace

bool FitContext::lends(const ParameterKey& key) const {
  return std::any_of(inherited.begin(), inherited.end(), [&](const Calibration* calibration) {
    const Parameter* parameter = calibration->find(key);
    return parameter && parameter->provenance.rfind("inherited", 0) != 0;
  });
}

bool FitContext::lends_any(const std::string& transport) const {
  return std::any_of(inherited.begin(), inherited.end(), [&](const Calibration* calibration) {
    const auto first = std::find_if(calibration->parameters.begin(), calibration->parameters.end(),
                                    [&](const auto& item) { return is_of_transport(item.first, transport); });
    return first != calibration->parameters.end() && lends(key_named(first->first));
  });
}

bool FitContext::has_any(const std::string& transport) const {
  return std::any_of(found.begin(), found.end(),
                     [&](const auto& item) { return is_of_transport(item.first, transport); });
}

std::vector<const Calibration*> FitContext::lenders_of(const ParameterKey& key) const {
  std::vector<const Calibration*> list = inherited;
  if (is_of_host(key.name))
    std::stable_partition(list.begin(), list.end(), [&](const Calibration* calibration) {
      const auto found = kin.find(calibration);
      return found != kin.end() && found->second.same_host;
    });
  return list;
}

bool FitContext::host_lends(const ParameterKey& key) const {
  return std::any_of(kin.begin(), kin.end(), [&](const auto& of) {
    const Parameter* parameter = of.second.same_host ? of.first->find(key) : nullptr;
    return parameter && parameter->provenance.rfind("inherited", 0) != 0;
  });
}

bool FitContext::inherit(const ParameterKey& key, const std::string& missing) {
  for (const Calibration* calibration : lenders_of(key)) {
    const Parameter* parameter = calibration->find(key);
    if (!parameter || parameter->provenance.rfind("inherited", 0) == 0) continue;
    Parameter copy = *parameter;
    copy.provenance = "inherited:" + calibration->name;
    copy.stderr_ = std::max(copy.stderr_, kOtherCopies * std::abs(copy.value));
    found[key.name] = copy;
    return true;
  }
  undetermined.push_back(key.name + ": " + missing);
  return false;
}

bool FitContext::inherit_all(const std::string& transport, const std::string& missing) {
  std::set<std::string> names;
  for (const Calibration* calibration : inherited) {
    for (const auto& [name, parameter] : calibration->parameters)
      if (is_of_transport(name, transport) && parameter.provenance.rfind("inherited", 0) != 0) names.insert(name);
    if (!names.empty()) break;
  }
  for (const std::string& name : names) inherit(key_named(name), missing);
  if (names.empty()) undetermined.push_back(parameter_subject(ParameterOf::kTransport, transport) + ".*: " + missing);
  return !names.empty();
}

}  // namespace linkcast::fit
