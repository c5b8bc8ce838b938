#include "calibrate/import/infragraph_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

namespace linkcast::infragraph {
namespace {

constexpr int kMostNodes = 100000;           // of one component: a typing error, not a machine
constexpr std::size_t kMostPairs = 1000000;  // of one edge: likewise
constexpr double kGiga = 1e9;                // source: SI
constexpr double kBitsPerByte = 8;           // source: SI

std::string text_or_empty(ObjectReader& r, const std::string& key) { return r.optional<std::string>(key).value_or(""); }

/// Openapi's `choice` is left out by some writers: then the only one of the alternatives that is there.
std::string chosen(ObjectReader& r, const std::vector<std::string>& allowed) {
  if (r.has("choice")) return r.choice("choice", allowed);
  std::string found;
  for (const std::string& one : allowed)
    if (r.has(one)) found = found.empty() ? one : "several";
  if (found.empty() || found == "several") r.fail("choice", "is missing");
  return found;
}

Component read_component(ObjectReader r) {
  Component c{r.required<std::string>("name"), text_or_empty(r, "description"), "", r.required<int>("count"),
              r.pointer()};
  if (c.count < 1 || c.count > kMostNodes) r.fail("count", fmt::format("must be from 1 to {}", kMostNodes));
  c.type = chosen(r, {"custom", "device", "cpu", "xpu", "nic", "memory", "port", "switch"});
  if (c.type == "custom") c.type = r.object("custom").required<std::string>("type");
  static const Regex nvswitch(R"((?i)nv-?_?(l|link)?-?_?sw(itch)?[0-9]*)");  // of the package's blueprints
  if (nvswitch.whole(c.type) || (nvswitch.whole(c.name) && c.type == "custom")) c.type = "switch";
  return c;
}

void read_bandwidth(ObjectReader r, Link& link) {
  const std::string unit = chosen(r, {"gigabits_per_second", "gigabytes_per_second", "gigatransfers_per_second"});
  const double value = r.required<double>(unit);
  if (!(value > 0)) r.fail(unit, "must be above 0");
  if (unit == "gigatransfers_per_second")
    link.transfers_GT = value;
  else
    link.bytes_per_s = value * kGiga / (unit == "gigabits_per_second" ? kBitsPerByte : 1);
}

Link read_link(ObjectReader r) {
  Link link{r.required<std::string>("name"), text_or_empty(r, "description"), {}, {}, r.pointer()};
  if (auto physical = r.optional_object("physical"))
    if (auto bandwidth = physical->optional_object("bandwidth")) read_bandwidth(*bandwidth, link);
  return link;
}

std::optional<int> number(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Indices of a Python slice over `count` elements: "", "3", "-1", "1:", ":4", "0:8:2".
/// @source  infragraph_service.py, _resolve_slice_indices; language reference of Python, sequences
std::optional<std::vector<int>> sliced(const std::string& text, int count) {
  std::vector<std::optional<int>> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t colon = std::min(text.find(':', at), text.size());
    const std::string part = text.substr(at, colon - at);
    parts.push_back(number(part));
    if (!part.empty() && !parts.back()) return std::nullopt;
    at = colon + 1;
  }
  if (parts.size() > 3) return std::nullopt;
  const auto from_end = [&](int index) { return index < 0 ? index + count : index; };
  if (parts.size() == 1 && parts[0]) {
    const int index = from_end(*parts[0]);
    if (index < 0 || index >= count) return std::nullopt;
    return std::vector<int>{index};
  }
  parts.resize(3);
  const int step = parts[2].value_or(1);
  if (step < 1) return std::nullopt;  // Python allows to count down; nobody writes wiring so
  const int first = std::clamp(from_end(parts[0].value_or(0)), 0, count);
  const int end = from_end(parts[1].value_or(count));
  if (end > count) return std::nullopt;  // Python would shorten it; here it names what is not there
  std::vector<int> indices;
  for (int i = first; i < end; i += step) indices.push_back(i);
  return indices;
}

/// "xpu[0:4]" to its nodes.
std::vector<Node> endpoint(const Device& device, ObjectReader r) {
  if (r.has("device") && !text_or_empty(r, "device").empty())
    r.fail("device", "a device inside a device is not read: write its components into the outer one");
  const auto text = r.required<std::string>("component");
  const std::size_t open = text.find('[');
  const std::string name = text.substr(0, open);
  const auto found = std::find_if(device.components.begin(), device.components.end(),
                                  [&](const Component& c) { return c.name == name; });
  if (found == device.components.end()) r.fail("component", "'" + name + "' is no component of '" + device.name + "'");
  const bool closed = open == std::string::npos || text.back() == ']';
  const std::string slice = open == std::string::npos ? "" : text.substr(open + 1, text.size() - open - 2);
  const auto indices = closed ? sliced(slice, found->count) : std::nullopt;
  if (!indices || indices->empty())
    r.fail("component", fmt::format("'{}' is no slice of the {} {}", text, found->count, name));
  std::vector<Node> nodes;
  for (const int i : *indices) nodes.push_back({static_cast<int>(found - device.components.begin()), i});
  return nodes;
}

void read_edge(ObjectReader r, Device& device, std::set<std::tuple<Node, Node, int>>& seen) {
  const auto link_name = r.required<std::string>("link");
  const auto link =
      std::find_if(device.links.begin(), device.links.end(), [&](const Link& l) { return l.name == link_name; });
  if (link == device.links.end()) r.fail("link", "'" + link_name + "' is no link of '" + device.name + "'");
  const auto left = endpoint(device, r.object("ep1")), right = endpoint(device, r.object("ep2"));
  const std::string scheme = r.choice("scheme", {"one2one", "many2many"});
  if (left.size() * right.size() > kMostPairs && scheme == "many2many")
    r.fail("scheme", fmt::format("joins more than {} pairs", kMostPairs));
  const auto join = [&](const Node& a, const Node& b) {
    const int number = static_cast<int>(link - device.links.begin());
    if (a == b || !seen.emplace(std::min(a, b), std::max(a, b), number).second) return;
    device.edges.push_back({a, b, number, r.pointer()});
  };
  if (scheme == "one2one")
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) join(left[i], right[i]);
  else
    for (const Node& a : left)
      for (const Node& b : right) join(a, b);
}

bool has_xpu(ObjectReader& device) {
  const auto components = device.objects("components");
  return std::any_of(components.begin(), components.end(),
                     [](ObjectReader c) { return c.has("xpu") || (c.has("choice") && c.raw("choice") == "xpu"); });
}

/// Index of the device to read.
std::size_t pick(const std::string& path, std::vector<ObjectReader>& devices, const std::optional<std::string>& name) {
  std::vector<std::size_t> found;
  std::string known;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto own = devices[i].required<std::string>("name");
    if (name ? own == *name : has_xpu(devices[i])) found.push_back(i);
    known += (known.empty() ? "" : ", ") + own;
  }
  if (found.size() == 1) return found.front();
  if (name) throw InputError(path, "/devices", "has no device '" + *name + "': one of " + known);
  if (found.empty()) throw InputError(path, "/devices", "no device has a component of the type xpu");
  throw InputError(path, "/devices", "several devices have an xpu: say which with option device=NAME: " + known);
}

}  // namespace

Device read_device(const std::string& path, const std::optional<std::string>& name) {
  const Json json = read_json_file(path);
  ObjectReader file(json, path);
  auto devices = file.objects("devices");
  ObjectReader& r = devices[pick(path, devices, name)];
  Device device;
  device.file = path;
  device.name = r.required<std::string>("name");
  device.description = text_or_empty(r, "description");
  for (ObjectReader& c : r.objects("components")) device.components.push_back(read_component(c));
  for (ObjectReader& l : r.objects("links")) device.links.push_back(read_link(l));
  std::set<std::tuple<Node, Node, int>> seen;
  for (ObjectReader& e : r.objects("edges")) read_edge(e, device, seen);
  for (ObjectReader& other : devices)
    if (const auto own = other.required<std::string>("name"); own != device.name) device.others.push_back(own);
  device.network = file.has("edges") && !file.objects("edges").empty();
  return device;
}

}  // namespace linkcast::infragraph
