#include "sim/machine/edited_fabric.hpp"

#include <array>
#include <charconv>

#include "sim/base/regex.hpp"
#include "sim/machine/edited_rates.hpp"
#include "sim/machine/transport.hpp"

namespace linkcast {
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

/// The class of links of a node's port; null if there is none.
Json port_of(const Json& fabric) {
  if (!fabric.is_object() || !fabric.contains("links") || !fabric["links"].is_object()) return {};
  for (const char* name : {"host", "torus"})
    if (fabric["links"].contains(name) && fabric["links"][name].is_object()) return fabric["links"][name];
  return {};
}

/// Nominal rate of a port; 0 if it cannot be read: building the fabric says what is wrong.
double rate_of(const Json& port) {
  if (!port.is_object() || !port.contains("bandwidth") || !port["bandwidth"].is_string()) return 0;
  try {
    return parse_bandwidth(port["bandwidth"].get<std::string>()).si;
  } catch (const UnitError&) {
    return 0;
  }
}

/// Every digit of a rate.
std::string exact(double rate_Bps) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), rate_Bps).ptr;
  return std::string(text.data(), end) + " B/s";
}

/// Class of the links of a node's port.
const char* port_class(const std::string& generator) { return generator == "torus" ? "torus" : "host"; }

/// What is not said of a class of links is as at the port that `like` describes.
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

/// What messages between nodes attain goes with the rate of a port. @param sure  nothing is assumed by that
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
  const bool same = before.is_object() && before.value("generator", "") == edit.subject;
  Json fabric = same ? before : changed_generator(before, edit.subject, port);
  fabric["source"] = "assumed: what-if edit '" + edit.text + "'";
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
