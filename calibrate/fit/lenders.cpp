// Which machine lends what: the first that fitted it itself, and for what belongs to the host the one with the same
// host.
#include "calibrate/fit/lenders.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/records/cable_kinds.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::fit {
namespace {

/// Parameters of the ways to and through host memory.
bool is_of_host(const std::string& name) {
  const ParameterName parts(name);
  if (parts.head == "transport") return parts.subject.rfind("staged", 0) == 0;
  const CableKind* kind = parts.head == "cable" ? find_cable_kind(parts.subject) : nullptr;
  return kind != nullptr && (kind->family == CableFamily::kPcie || kind->family == CableFamily::kSocket);
}

/// Models of the CPUs and PCIe switches, sorted.
std::vector<std::string> host_models(const Topology& topology) {
  std::vector<std::string> models;
  for (const Device& device : topology.devices)
    if (device.kind == DeviceKind::kCpu || device.kind == DeviceKind::kPcieSwitch) models.push_back(device.model);
  std::sort(models.begin(), models.end());
  return models;
}

}  // namespace

void know_lenders(FitContext& context, const FitRequest& request) {
  const std::vector<std::string> here = host_models(*request.topology);
  context.l2_B = request.l2_B;
  for (std::size_t i = 0; i < request.inherited.size(); ++i) {
    context.inherited.push_back(&request.inherited[i]);
    if (i >= request.lenders.size()) continue;
    const std::vector<std::string> there = host_models(request.lenders[i].topology);
    const bool named = std::none_of(here.begin(), here.end(), [](const std::string& model) { return model.empty(); });
    context.kin[&request.inherited[i]] = {named && !here.empty() && here == there, request.lenders[i].l2_B};
  }
}

bool FitContext::lends(const std::string& name) const {
  return std::any_of(inherited.begin(), inherited.end(), [&](const Calibration* calibration) {
    const Parameter* parameter = calibration->find(name);
    return parameter && parameter->provenance.rfind("inherited", 0) != 0;
  });
}

bool FitContext::lends_any(const std::string& prefix) const {
  return std::any_of(inherited.begin(), inherited.end(), [&](const Calibration* calibration) {
    const auto first = calibration->parameters.lower_bound(prefix);
    return first != calibration->parameters.end() && first->first.rfind(prefix, 0) == 0 && lends(first->first);
  });
}

std::vector<const Calibration*> FitContext::lenders_of(const std::string& name) const {
  std::vector<const Calibration*> list = inherited;
  if (is_of_host(name))
    std::stable_partition(list.begin(), list.end(), [&](const Calibration* calibration) {
      const auto found = kin.find(calibration);
      return found != kin.end() && found->second.same_host;
    });
  return list;
}

bool FitContext::host_lends(const std::string& name) const {
  return std::any_of(kin.begin(), kin.end(), [&](const auto& of) {
    const Parameter* parameter = of.second.same_host ? of.first->find(name) : nullptr;
    return parameter && parameter->provenance.rfind("inherited", 0) != 0;
  });
}

bool FitContext::inherit(const std::string& name, const std::string& missing) {
  for (const Calibration* calibration : lenders_of(name)) {
    const Parameter* parameter = calibration->find(name);
    if (!parameter || parameter->provenance.rfind("inherited", 0) == 0) continue;
    Parameter copy = *parameter;
    copy.provenance = "inherited:" + calibration->name;
    copy.stderr_ = std::max(copy.stderr_, kOtherCopies * std::abs(copy.value));
    found[name] = copy;
    return true;
  }
  undetermined.push_back(name + ": " + missing);
  return false;
}

bool FitContext::inherit_all(const std::string& prefix, const std::string& missing) {
  std::set<std::string> names;
  for (const Calibration* calibration : inherited) {
    for (const auto& [name, parameter] : calibration->parameters)
      if (name.rfind(prefix, 0) == 0 && parameter.provenance.rfind("inherited", 0) != 0) names.insert(name);
    if (!names.empty()) break;
  }
  for (const std::string& name : names) inherit(name, missing);
  if (names.empty()) undetermined.push_back(prefix + "*: " + missing);
  return !names.empty();
}

}  // namespace linkcast::fit
