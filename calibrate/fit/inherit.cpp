#include "calibrate/fit/inherit.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/fit/fit_context.hpp"
#include "sim/base/input_error.hpp"
#include "sim/machine/inherit.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::fit {
// A parameter is inherited from the first machine that fitted it itself; one of the host from the machine with the same
// host.

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
    return parameter && !parameter->inherited();
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
    return parameter && !parameter->inherited();
  });
}

bool FitContext::inherit(const ParameterKey& key, const std::string& missing) {
  for (const Calibration* calibration : lenders_of(key)) {
    const Parameter* parameter = calibration->find(key);
    if (!parameter || parameter->inherited()) continue;
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
      if (is_of_transport(name, transport) && !parameter.inherited()) names.insert(name);
    if (!names.empty()) break;
  }
  for (const std::string& name : names) inherit(key_named(name), missing);
  if (names.empty()) undetermined.push_back(parameter_subject(ParameterOf::kTransport, transport) + ".*: " + missing);
  return !names.empty();
}

FitResult inherit_parameters(const FitRequest& request) {
  for (const Measurement& m : request.measurements)
    if (!m.collectives.empty() && m.library.empty())
      throw InputError(
          m.path, "/library",
          "missing: which library ran these collectives? As of 'linkcast list libraries', or of the import: "
          "option library=nccl-2.8");
  const auto copies = [](const Measurement& m) { return !m.points.empty() || !m.spreads.empty() || m.library.empty(); };
  if (std::any_of(request.measurements.begin(), request.measurements.end(), copies) || !request.launches.empty())
    throw InputError(
        "unmeasured: takes no measurement but collectives of a named library: leave it out and calibrate from them");
  if (request.inherited.empty()) throw InputError("unmeasured: set inherit to calibrations that have parameters");
  check_records(request);
  std::vector<lending::Lender> lenders;
  for (std::size_t i = 0; i < request.inherited.size(); ++i)
    lenders.push_back({request.inherited[i], request.lenders.at(i).topology});
  FitResult result;
  Calibration& c = result.calibration;
  c.name = request.name;
  c.topology = request.topology->name;
  c.default_library = request.default_library;
  c.parameters = lending::lend(*request.topology, lenders);
  if (c.parameters.empty()) throw InputError("inherit: none of these calibrations has a parameter for " + c.topology);
  c.valid_from_B = request.inherited.front().valid_from_B;
  c.valid_to_B = request.inherited.front().valid_to_B;
  for (const Measurement& m : request.measurements) c.from.push_back({request.relative(m.path), m.sha256});
  for (const Calibration& lender : request.inherited) c.from.push_back({request.relative(lender.path), lender.sha256});
  result.undetermined = {"everything that copies show: none was given"};
  return result;
}

}  // namespace linkcast::fit
