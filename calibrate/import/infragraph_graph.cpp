#include "calibrate/import/infragraph_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "sim/base/regex.hpp"

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
  std::vector<std::string> found;
  std::copy_if(allowed.begin(), allowed.end(), std::back_inserter(found), [&](const auto& one) { return r.has(one); });
  if (found.size() != 1) r.fail("choice", "is missing");
  return found.front();
}

const std::string kCustom = "custom";  // type of a component that says its own
const std::string kDevice = "device";  // type of one that is a device of the file

/// As the package's blueprints call NVSwitches.
bool is_nvswitch_name(const std::string& text) {
  static const Regex pattern(R"((?i)nv-?_?(l|link)?-?_?sw(itch)?[0-9]*)");
  return bool{pattern.whole(text)};
}

Component read_component(ObjectReader r) {
  Component c{r.required<std::string>("name"), text_or_empty(r, "description"), "", r.required<int>("count"),
              r.pointer()};
  if (c.count < 1 || c.count > kMostNodes) r.fail("count", fmt::format("must be from 1 to {}", kMostNodes));
  c.type = chosen(r, {kCustom, kDevice, "cpu", "xpu", "nic", "memory", "port", "switch"});
  if (c.type == kCustom)
    if (auto custom = r.optional_object(kCustom)) c.type = text_or_empty(*custom, "type");
  if (c.type.empty()) c.type = kCustom;
  if (is_nvswitch_name(c.type) || (is_nvswitch_name(c.name) && c.type == kCustom)) c.type = "switch";
  return c;
}

void read_bandwidth(ObjectReader r, Link& link) {
  static const std::string kBits = "gigabits_per_second", kTransfers = "gigatransfers_per_second";
  const std::string unit = chosen(r, {kBits, "gigabytes_per_second", kTransfers});
  const double value = r.required<double>(unit);
  if (!(value > 0)) r.fail(unit, "must be above 0");
  if (unit == kTransfers)
    link.transfers_GT = value;
  else
    link.bytes_per_s = value * kGiga / (unit == kBits ? kBitsPerByte : 1);
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
  for (std::int64_t i = first; i < end; i += step) indices.push_back(static_cast<int>(i));
  return indices;
}

/// Meaning of a name inside a device: a component, or a device that the outer one is composed of.
struct Entry {
  int count = 0;      ///< in one copy of the device
  int component = 0;  ///< of the result; with `inside` unused
  int inside = -1;    ///< the scope of the composed device
};

/// A device, once for each place where the machine has it, with all its copies there.
struct Scope {
  std::size_t device = 0;
  std::map<std::string, Entry> entries;
  int copies = 1;
  int first_link = 0;
  int one = -1;     ///< the component that each copy of it is as a whole: an adapter, a switch
  int per_one = 1;  ///< copies of this device in one of that component
};

/// @source  infragraph_service.py of the package: components of the type device are the device of the same name
class DeviceReader {
 public:
  DeviceReader(const std::string& path, std::vector<ObjectReader> devices) : path_(path), devices_(std::move(devices)) {
    for (std::size_t i = 0; i < devices_.size(); ++i)
      if (!by_name_.emplace(devices_[i].required<std::string>("name"), i).second)
        devices_[i].fail("name", "a second device of this name");
  }

  Device read(const std::optional<std::string>& name) {
    const std::size_t picked = pick(name);
    device_.file = path_;
    device_.name = devices_[picked].required<std::string>("name");
    device_.description = text_or_empty(devices_[picked], "description");
    add(picked, "", Scope{}, 0);
    for (int scope = 0; scope < static_cast<int>(scopes_.size()); ++scope)
      for (ObjectReader& e : devices_[scopes_[static_cast<std::size_t>(scope)].device].objects("edges"))
        for (int copy = 0; copy < scopes_[static_cast<std::size_t>(scope)].copies; ++copy) read_edge(e, scope, copy);
    for (const auto& [other, index] : by_name_)
      if (!used_.count(index)) device_.others.push_back(other);
    return device_;
  }

 private:
  std::size_t pick(const std::optional<std::string>& name);
  bool holds(std::size_t device, const std::string& type);
  std::string type_as_one(std::size_t device);
  int add(std::size_t device, const std::string& prefix, Scope scope, int depth);
  Entry& find(ObjectReader& r, Scope& scope, const std::string& name);
  std::vector<Node> nodes(ObjectReader& r, int scope, const std::vector<int>& copies, const std::string& path);
  std::vector<Node> endpoint(ObjectReader r, int scope, int copy);
  void read_edge(ObjectReader& r, int scope, int copy);

  const std::string path_;
  std::vector<ObjectReader> devices_;
  std::map<std::string, std::size_t> by_name_;
  std::set<std::size_t> used_;
  std::vector<Scope> scopes_;
  std::set<std::tuple<Node, Node, int>> seen_;
  Device device_;
};

constexpr int kDeepest = 10;  // devices in devices: more is a circle

/// Has a component of this type, also in what it is composed of: each device is looked into once.
bool DeviceReader::holds(std::size_t device, const std::string& type) {
  std::vector<std::size_t> open = {device};
  std::set<std::size_t> seen = {device};
  while (!open.empty()) {
    ObjectReader& holder = devices_[open.back()];
    open.pop_back();
    for (ObjectReader& r : holder.objects("components")) {
      const Component c = read_component(r);
      if (c.type == type) return true;
      const auto inner = c.type == kDevice ? by_name_.find(c.name) : by_name_.end();
      if (inner != by_name_.end() && seen.insert(inner->second).second) open.push_back(inner->second);
    }
  }
  return false;
}

/// The type of a device that is one node here, whatever it holds; empty for one whose components count.
std::string DeviceReader::type_as_one(std::size_t device) {
  static const Regex adapter("(?i)\\b(nic|hca|dpu)\\b|connectx|bluefield|network (adapter|interface)"),
      plug("(?i)transceiver|[qo]?sfp"), fabric("(?i)switch");
  ObjectReader& r = devices_[device];
  const std::string words = r.required<std::string>("name") + " " + text_or_empty(r, "description");
  if (holds(device, "xpu")) return "";
  if (plug.find(words)) return "port";
  if (adapter.find(words)) return "nic";
  if (holds(device, "memory") || !holds(device, "port")) return "";
  return fabric.find(words) ? "switch" : "nic";
}

int DeviceReader::add(std::size_t device, const std::string& prefix, Scope scope, int depth) {
  ObjectReader& r = devices_[device];
  if (depth > kDeepest) r.fail("components", "the device is composed of itself");
  used_.insert(device);
  scope.device = device;
  scope.first_link = static_cast<int>(device_.links.size());
  for (ObjectReader& l : r.objects("links")) device_.links.push_back(read_link(l));
  const int own = static_cast<int>(scopes_.size());
  scopes_.push_back(scope);
  for (ObjectReader& item : r.objects("components")) {
    Component c = read_component(item);
    Entry entry{c.count};
    if (static_cast<std::int64_t>(c.count) * scope.copies > kMostNodes)
      item.fail("count", fmt::format("more than {} in all devices", kMostNodes));
    const auto inner = by_name_.find(c.name);
    if (c.type == kDevice && inner == by_name_.end())
      item.fail("name", "is composed of '" + c.name + "', which is no device of the file");
    const std::string name = c.name;
    const std::string as_one = c.type == kDevice ? type_as_one(inner->second) : "";
    c.count *= scope.copies;
    c.name = prefix + c.name;
    entry.component = static_cast<int>(device_.components.size());
    Scope inside;
    inside.copies = c.count;
    if (scope.one >= 0) {
      inside.one = entry.component = scope.one;
      inside.per_one = scope.per_one * entry.count;
    } else if (c.type != kDevice || !as_one.empty()) {
      if (!as_one.empty()) {
        inside.one = entry.component;
        device_.notes.push_back("assumed: device '" + name + "' is one " + as_one);
        c.type = as_one;
      }
      device_.components.push_back(c);
    }
    if (c.type == kDevice || !as_one.empty()) entry.inside = add(inner->second, c.name + "_", inside, depth + 1);
    if (!scopes_[static_cast<std::size_t>(own)].entries.emplace(name, entry).second)
      item.fail("name", "a second component of this name");
  }
  return own;
}

/// The published library calls a component 'nvsw' and its ends 'nvlsw': taken where one alone can be meant.
Entry& DeviceReader::find(ObjectReader& r, Scope& scope, const std::string& name) {
  if (const auto found = scope.entries.find(name); found != scope.entries.end()) return found->second;
  std::vector<std::string> alike;
  for (const auto& [known, entry] : scope.entries)
    if (is_nvswitch_name(known)) alike.push_back(known);
  if (!is_nvswitch_name(name) || alike.size() != 1)
    r.fail("component",
           "'" + name + "' is no component of '" + devices_[scope.device].required<std::string>("name") + "'");
  const std::string note = "assumed: ends '" + name + "', which is no component, are '" + alike.front() + "'";
  if (std::find(device_.notes.begin(), device_.notes.end(), note) == device_.notes.end()) device_.notes.push_back(note);
  return scope.entries.at(alike.front());
}

/// "xpu[0:4]", "tray[1].xpu[0]" to nodes, in these copies of a device.
std::vector<Node> DeviceReader::nodes(ObjectReader& r, int scope, const std::vector<int>& copies,
                                      const std::string& path) {
  Scope& here = scopes_[static_cast<std::size_t>(scope)];
  const std::size_t dot = path.find('.');
  const std::string text = path.substr(0, dot);
  const std::size_t open = text.find('[');
  const std::string name = text.substr(0, open);
  const Entry& entry = find(r, here, name);
  const bool closed = open == std::string::npos || text.back() == ']';
  const std::string slice = open == std::string::npos ? "" : text.substr(open + 1, text.size() - open - 2);
  const auto indices = closed ? sliced(slice, entry.count) : std::nullopt;
  if (!indices || indices->empty())
    r.fail("component", fmt::format("'{}' is no slice of the {} {}", text, entry.count, name));
  std::vector<int> all;
  for (const int copy : copies)
    for (const int i : *indices) all.push_back(copy * entry.count + i);
  if (dot != std::string::npos) {
    if (entry.inside < 0) r.fail("component", "'" + name + "' is no device that has components");
    return nodes(r, entry.inside, all, path.substr(dot + 1));
  }
  const bool whole = here.one < 0 && entry.inside >= 0 && scopes_[static_cast<std::size_t>(entry.inside)].one >= 0;
  if (entry.inside >= 0 && here.one < 0 && !whole)
    r.fail("component", "'" + name + "' is a device: name one of its components");
  const int per_one = here.one < 0 ? 1 : here.per_one * entry.count;
  std::vector<Node> found;
  for (const int i : all) found.push_back({entry.component, i / per_one});
  return found;
}

std::vector<Node> DeviceReader::endpoint(ObjectReader r, int scope, int copy) {
  const std::string outer = text_or_empty(r, "device"), inner = r.required<std::string>("component");
  return nodes(r, scope, {copy}, outer.empty() ? inner : outer + "." + inner);
}

void DeviceReader::read_edge(ObjectReader& r, int scope, int copy) {
  const Scope& here = scopes_[static_cast<std::size_t>(scope)];
  const std::string name = devices_[here.device].required<std::string>("name");
  const auto link_name = r.required<std::string>("link");
  const auto known = devices_[here.device].objects("links");
  const auto first = device_.links.begin() + here.first_link;
  const auto last = first + static_cast<std::ptrdiff_t>(known.size());
  const auto link = std::find_if(first, last, [&](const Link& l) { return l.name == link_name; });
  if (link == last) r.fail("link", "'" + link_name + "' is no link of '" + name + "'");
  const auto left = endpoint(r.object("ep1"), scope, copy), right = endpoint(r.object("ep2"), scope, copy);
  const bool single = left.size() == 1 && right.size() == 1 && !r.has("scheme");  // every scheme says the same
  const bool one_by_one = single || r.choice("scheme", {"one2one", "many2many"}) == "one2one";
  if (left.size() * right.size() > kMostPairs && !one_by_one)
    r.fail("scheme", fmt::format("joins more than {} pairs", kMostPairs));
  const auto join = [&](const Node& a, const Node& b) {
    const int number = static_cast<int>(link - device_.links.begin());
    if (a == b || !seen_.emplace(std::min(a, b), std::max(a, b), number).second) return;
    device_.edges.push_back({a, b, number, r.pointer()});
  };
  if (one_by_one)
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) join(left[i], right[i]);
  else
    for (const Node& a : left)
      for (const Node& b : right) join(a, b);
}

/// Index of the device to read: the outermost with an xpu.
std::size_t DeviceReader::pick(const std::optional<std::string>& name) {
  std::vector<std::size_t> found;
  std::string known;
  std::set<std::string> parts;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const auto own = devices_[i].required<std::string>("name");
    if (name ? own == *name : holds(i, "xpu")) found.push_back(i);
    known += (known.empty() ? "" : ", ") + own;
    for (ObjectReader& r : devices_[i].objects("components"))
      if (const Component c = read_component(r); c.type == kDevice) parts.insert(c.name);
  }
  if (!name && found.size() > 1)
    std::erase_if(found, [&](std::size_t i) { return parts.count(devices_[i].required<std::string>("name")) != 0; });
  if (found.size() == 1) return found.front();
  if (name) throw InputError(path_, "/devices", "has no device '" + *name + "': one of " + known);
  if (found.empty()) throw InputError(path_, "/devices", "no device has a component of the type xpu");
  throw InputError(path_, "/devices", "several devices have an xpu: say which with option device=NAME: " + known);
}

}  // namespace

Device read_device(const std::string& path, const std::optional<std::string>& name) {
  const Json json = read_json_file(path);
  ObjectReader file(json, path);
  const bool bare = !file.has("devices") && file.has("components");  // the package writes devices alone, too
  Device device = DeviceReader(path, bare ? std::vector<ObjectReader>{file} : file.objects("devices")).read(name);
  device.network = !bare && file.has("edges") && !file.objects("edges").empty();
  return device;
}

}  // namespace linkcast::infragraph
