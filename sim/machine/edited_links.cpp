#include "sim/machine/edited_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "sim/base/regex.hpp"
#include "sim/machine/edit.hpp"
#include "sim/machine/routing.hpp"
#include "sim/machine/transport.hpp"
#include "sim/records/parameters.hpp"

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

/// Factor of one cable of the merged topology.
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

namespace {

std::vector<int> switches_of(const std::string& plane, const Topology& wiring) {
  std::vector<int> found;
  for (std::size_t i = 0; i < wiring.devices.size(); ++i)
    if (wiring.devices[i].kind == DeviceKind::kNvswitch && wiring.devices[i].group == plane)
      found.push_back(static_cast<int>(i));
  return found;
}

/// "gpu0" and "baseboard0" of "gpu0-baseboard0", whichever stands first; nothing if neither end is a plane.
std::pair<std::optional<int>, std::string> ends_at_plane(const std::string& subject, const Topology& wiring) {
  for (auto dash = subject.find('-'); dash != std::string::npos; dash = subject.find('-', dash + 1)) {
    const std::string a = subject.substr(0, dash), b = subject.substr(dash + 1);
    if (wiring.find(a) && !switches_of(b, wiring).empty()) return {wiring.find(a), b};
    if (wiring.find(b) && !switches_of(a, wiring).empty()) return {wiring.find(b), a};
  }
  return {};
}

bool joins(const Cable& cable, int device, const std::vector<int>& switches) {
  const int other = cable.a == device ? cable.b : cable.a;
  return (cable.a == device || cable.b == device) &&
         std::find(switches.begin(), switches.end(), other) != switches.end();
}

std::vector<Edit> cable_edits(const Edit& edit, int device, const std::string& plane, const Topology& wiring) {
  const std::vector<int> switches = switches_of(plane, wiring);
  std::vector<Edit> edits;
  int left = edit.count;
  for (const Cable& cable : wiring.cables) {
    if (!joins(cable, device, switches) || (edit.count > 0 && left == 0)) continue;
    Edit one = edit;
    one.subject = cable.id;
    one.count = std::min(left, cable.count);
    left -= one.count;
    edits.push_back(std::move(one));
  }
  const std::string& id = wiring.devices[static_cast<std::size_t>(device)].id;
  if (edits.empty()) refuse(edit, "no such cable: " + id + " has none to " + plane);
  if (left > 0) refuse(edit, fmt::format("{} has {} links to {} only", id, edit.count - left, plane));
  return edits;
}

}  // namespace

std::vector<Edit> edits_of_plane(const Edit& edit, const Topology& wiring) {
  const bool of_cable = edit.verb == EditVerb::kRemove || edit.verb == EditVerb::kSwap ||
                        edit.verb == EditVerb::kScale || edit.verb == EditVerb::kFlaky;
  if (of_cable) {
    const auto [device, plane] = ends_at_plane(edit.subject, wiring);
    return device ? cable_edits(edit, *device, plane, wiring) : std::vector<Edit>{edit};
  }
  const std::vector<int> switches = wiring.find(edit.subject) ? std::vector<int>() : switches_of(edit.subject, wiring);
  if (edit.verb != EditVerb::kSlow || switches.empty()) return {edit};
  std::vector<Edit> edits;
  for (const int one : switches) {
    edits.push_back(edit);
    edits.back().subject = wiring.devices[static_cast<std::size_t>(one)].id;
  }
  return edits;
}

void set_source(const Edit& edit, Json& part) { part["source"] = "assumed: what-if edit '" + edit.text + "'"; }

Json port_of(const Json& fabric) {
  if (!fabric.is_object() || !fabric.contains("links") || !fabric["links"].is_object()) return {};
  for (const char* name : {"host", "torus"})
    if (fabric["links"].contains(name) && fabric["links"][name].is_object()) return fabric["links"][name];
  return {};
}

double rate_of(const Json& links) {
  if (!links.is_object() || !links.contains("bandwidth") || !links["bandwidth"].is_string()) return 0;
  try {
    return parse_bandwidth(links["bandwidth"].get<std::string>()).si;
  } catch (const UnitError&) {
    return 0;
  }
}

std::string exact(double rate_Bps) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), rate_Bps).ptr;
  return std::string(text.data(), end) + " B/s";
}

namespace {

/// "64" to 64, "4x2" to [4, 2], "true", else text.
Json value_of(const std::string& text) {
  static const Regex number("[0-9]{1,9}"), lengths("[0-9]{1,9}(x[0-9]{1,9})+");
  if (number.whole(text)) return std::stoi(text);
  if (text == "true" || text == "false") return text == "true";
  if (!lengths.whole(text)) return text;
  Json list = Json::array();
  for (std::size_t begin = 0; begin <= text.size(); begin = std::min(text.find('x', begin), text.size()) + 1)
    list.push_back(std::stoi(text.substr(begin)));
  return list;
}

/// "links.global.bandwidth" is the key bandwidth of the object global of the object links.
void put(const Edit& edit, Json& fabric, const std::string& key, const Json& value) {
  Json* at = &fabric;
  std::string rest = key;
  for (auto dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
    at = &(*at)[rest.substr(0, dot)];
    rest = rest.substr(dot + 1);
    if (!at->is_object() && !at->is_null()) break;
  }
  if (rest.empty() || (!at->is_object() && !at->is_null()))
    throw InputError("edit '" + edit.text + "': '" + key + "' names no key of a fabric");
  (*at)[rest] = value;
}

/// Class of the links of a node's port.
const char* port_class(const std::string& generator) { return generator == "torus" ? "torus" : "host"; }

/// Keys that a class of links lacks are those of the port that `like` describes.
void fill_links(Json& links, const Json& like) {
  for (Json& one : links) {
    if (!one.is_object()) continue;
    for (const char* key : {"cable", "bandwidth", "latency"})
      if (!one.contains(key) && like.is_object() && like.contains(key)) one[key] = like[key];
    if (!one.contains("source")) one["source"] = "assumed: what-if edit";
  }
}

/// Another generator knows neither the old keys nor the old classes of links, except that of a node's port.
Json changed_generator(const Json& before, const std::string& generator, const Json& port) {
  Json fabric{{"generator", generator}, {"source", ""}, {"routing", "minimal"}};
  for (const char* key : {"routing", "nics", "nodes"})
    if (before.is_object() && before.contains(key) && !(generator == "torus" && std::string(key) == "nodes"))
      fabric[key] = before[key];
  fabric["links"] = Json::object();
  if (port.is_object()) fabric["links"][port_class(generator)] = port;
  return fabric;
}

/// Rates of messages between nodes scale with the rate of a port. @param sure  nothing is assumed by that
void scale_messages(double factor, bool sure, Calibration& calibration) {
  for (auto& [name, parameter] : calibration.parameters) {
    if (!Transports::crosses_network(ParameterName(name).transport()) || parameter.unit != "B/s") continue;
    parameter.value *= factor;
    parameter.stderr_ *= factor;
    if (!sure) widen(parameter);
    parameter.provenance = "edited: " + parameter.provenance;
  }
}

}  // namespace

void edit_fabric(const Edit& edit, Topology& topology, Calibration& calibration, std::vector<std::string>& notes) {
  const Json before = topology.fabric;
  const Json port = port_of(before);
  const bool whole = edit.subject.starts_with("{");
  const bool same = before.is_object() && before.value("generator", "") == edit.subject &&
                    std::none_of(edit.values.begin(), edit.values.end(), [&](const auto& one) {
                      return one.first == "levels" && value_of(one.second) != before.value("levels", Json());
                    });
  Json fabric = whole  ? parse_json(edit.subject, "edit '" + edit.text + "'")
                : same ? before
                       : changed_generator(before, edit.subject, port);
  if (!whole) set_source(edit, fabric);
  for (const auto& [key, value] : edit.values) put(edit, fabric, key, value_of(value));
  if (fabric.contains("links") && fabric["links"].is_object()) fill_links(fabric["links"], port);
  const double was = rate_of(port), is = rate_of(port_of(fabric));
  if (was > 0 && is > 0 && was != is) {
    scale_messages(is / was, false, calibration);
    notes.push_back("edit '" + edit.text +
                    "': messages are taken to attain the share of a port's rate that was measured at another rate");
  }
  topology.fabric = std::move(fabric);
}

bool scale_fabric(const Edit& edit, Topology& topology, Calibration& calibration) {
  Json& fabric = topology.fabric;
  if (!fabric.is_object() || !fabric.contains("links") || !fabric["links"].is_object()) return false;
  const double before = rate_of(port_of(fabric));
  bool any = false;
  for (auto& [name, links] : fabric["links"].get_ref<Json::object_t&>()) {
    const double rate = rate_of(links);
    if (!(rate > 0) || !names_kind(edit.subject, links.value("cable", ""))) continue;
    topology.reported_rates.try_emplace(name, BytesPerSecond{rate});
    links["bandwidth"] = exact(rate * edit.factor);
    any = true;
  }
  if (before > 0 && any) scale_messages(rate_of(port_of(fabric)) / before, true, calibration);
  return any;
}

std::string fabric_edit_for(const std::string& kind, const Topology& topology) {
  if (!topology.fabric.is_object() || !topology.fabric.contains("links")) return "";
  for (const auto& [name, links] : topology.fabric["links"].items())
    if (links.is_object() && names_kind(kind, links.value("cable", "")))
      return "fabric " + topology.fabric.value("generator", "") + ":links." + name + ".bandwidth=RATE";
  return "";
}

}  // namespace linkcast
