#include "sim/machine/edited_rates.hpp"

#include <algorithm>
#include <set>

#include "sim/machine/routing.hpp"
#include "sim/records/parameter_rows.hpp"

namespace linkcast {
namespace {

// Relative error of a rate that was not measured on this very machine. source: what the fit gives inherited parameters
// (calibrate/fit, 10 %); copies over NVLink 2 attain 24.2 to 24.4 GB/s on five machines
constexpr double kTakenOver = 0.1;

const std::string& device_of(const Topology& topology, int index) {
  return topology.devices[static_cast<std::size_t>(index)].id;
}

/// Device of the merged topology: the group of a plane, else itself.
const std::string& merged_id(const Topology& topology, int index) {
  const Device& device = topology.devices[static_cast<std::size_t>(index)];
  return device.kind == DeviceKind::kNvswitch && !device.group.empty() ? device.group : device.id;
}

/// "nvlink2@gpu0-gpu1" of a parameter of it; empty if it is of something else than `of`.
std::string subject_of(const std::string& name, ParameterOf of) {
  const ParameterName parts(name);
  return parts.of() == of ? std::string(parts.subject) : "";
}

bool is_rate(const std::string& name, const Parameter& parameter) {
  return parameter.unit == "B/s" || is_of(name, key::cable_half_bandwidth);
}

void scale(Parameter& parameter, double factor, bool wider) {
  parameter.value *= factor;
  parameter.stderr_ *= factor;
  if (wider) widen(parameter);
  if (parameter.provenance.rfind("edited", 0) != 0) parameter.provenance = "edited: " + parameter.provenance;
}

/// What one cable of the merged topology is scaled by.
struct Scaling {
  double factor = 1;
  bool wider = false;
  bool operator==(const Scaling&) const = default;
  [[nodiscard]] bool nothing() const { return factor == 1 && !wider; }
};

/// Whether a cable as built is part of one of the merged topology.
bool is_part_of(const Topology& topology, const Cable& cable, const Topology& merged, const Cable& other) {
  return other.kind == cable.kind && std::minmax(merged_id(topology, cable.a), merged_id(topology, cable.b)) ==
                                         std::minmax(device_of(merged, other.a), device_of(merged, other.b));
}

std::vector<Scaling> of_merged(const Topology& topology, const Topology& merged, const RateFactors& factors) {
  std::vector<Scaling> scalings(merged.cables.size());
  std::vector<char> met(merged.cables.size());
  for (std::size_t i = 0; i < topology.cables.size(); ++i) {
    const Cable& cable = topology.cables[i];
    for (std::size_t k = 0; k < merged.cables.size(); ++k) {
      if (!is_part_of(topology, cable, merged, merged.cables[k])) continue;
      scalings[k].factor = met[k] ? std::min(scalings[k].factor, factors.factor[i]) : factors.factor[i];
      scalings[k].wider = scalings[k].wider || factors.wider[i];
      met[k] = 1;
    }
  }
  return scalings;
}

/// Rates of one cable: its own ones, or those of its kind as own ones.
void scale_cable(const Cable& cable, const Scaling& scaling, const Calibration& before, Calibration& calibration) {
  const std::string own = one_cable(cable.kind, cable.id);
  for (const auto& [name, parameter] : before.parameters) {
    if (subject_of(name, ParameterOf::kCable) != cable.kind || !is_rate(name, parameter)) continue;
    const std::string mine = find_parameter_row(name)->key(own).name;
    const Parameter* specific = before.find(mine);
    Parameter copy = specific ? *specific : parameter;
    scale(copy, scaling.factor, scaling.wider);
    calibration.parameters[mine] = copy;
  }
  for (const auto& [name, parameter] : before.parameters)
    if (subject_of(name, ParameterOf::kCable) == own && is_rate(name, parameter) &&
        !before.find(find_parameter_row(name)->key(cable.kind)))
      scale(calibration.parameters[name], scaling.factor, scaling.wider);
}

}  // namespace

void widen(Parameter& parameter) { parameter.stderr_ = std::max(parameter.stderr_, kTakenOver * parameter.value); }

std::string fitted_subject(const Topology& topology, const Cable& cable) {
  const Topology merged = merge_switch_planes(topology);
  for (const Cable& other : merged.cables)
    if (is_part_of(topology, cable, merged, other)) return one_cable(cable.kind, other.id);
  throw InvariantError("cable " + cable.id + " is lost");
}

void drop_orphans(const Topology& topology, Calibration& calibration) {
  const Topology merged = merge_switch_planes(topology);
  std::set<std::string> known = topology.cable_kinds(), links;
  for (const Cable& cable : merged.cables) {
    known.insert(one_cable(cable.kind, cable.id));
    links.insert(device_of(merged, cable.a) + "->" + device_of(merged, cable.b));
    links.insert(device_of(merged, cable.b) + "->" + device_of(merged, cable.a));
  }
  std::erase_if(calibration.parameters, [&](const auto& item) {
    const std::string cable = subject_of(item.first, ParameterOf::kCable),
                      link = subject_of(item.first, ParameterOf::kLink);
    return (!cable.empty() && !known.count(cable)) || (!link.empty() && !links.count(link));
  });
}

void scale_rates(const Topology& topology, const RateFactors& factors, Calibration& calibration) {
  const Topology merged = merge_switch_planes(topology);
  const std::vector<Scaling> scalings = of_merged(topology, merged, factors);
  const Calibration before = calibration;
  std::map<std::string, std::set<std::size_t>> by_kind;
  for (std::size_t k = 0; k < merged.cables.size(); ++k) by_kind[merged.cables[k].kind].insert(k);
  for (const auto& [kind, cables] : by_kind) {
    const Scaling first = scalings[*cables.begin()];
    const bool alike = std::all_of(cables.begin(), cables.end(), [&](std::size_t k) { return scalings[k] == first; });
    if (alike && first.nothing()) continue;
    for (const std::size_t k : cables)
      if (!alike && !scalings[k].nothing()) scale_cable(merged.cables[k], scalings[k], before, calibration);
    if (!alike) continue;
    for (auto& [name, parameter] : calibration.parameters) {
      const std::string subject = subject_of(name, ParameterOf::kCable);
      if ((subject == kind || subject.starts_with(one_cable(kind, ""))) && is_rate(name, parameter))
        scale(parameter, first.factor, first.wider);
    }
  }
  for (std::size_t k = 0; k < merged.cables.size(); ++k) {
    const Cable& cable = merged.cables[k];
    const std::string a = device_of(merged, cable.a), b = device_of(merged, cable.b);
    for (const ParameterKey& key : {key::link_bandwidth(a + "->" + b), key::link_bandwidth(b + "->" + a)})
      if (!scalings[k].nothing() && before.find(key))
        scale(calibration.parameters[key.name], scalings[k].factor, scalings[k].wider);
  }
}

}  // namespace linkcast
