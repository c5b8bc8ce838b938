#include "calibrate/import/infragraph_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>

#include "sim/base/regex.hpp"
#include "sim/machine/topology.hpp"
#include "sim/records/gpu_models.hpp"

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

Component read_component(ObjectReader r) {
  Component c{r.required<std::string>("name"), text_or_empty(r, "description"), "", r.required<int>("count"),
              r.pointer()};
  if (c.count < 1 || c.count > kMostNodes) r.fail("count", fmt::format("must be from 1 to {}", kMostNodes));
  c.type = chosen(r, {kCustom, "device", "cpu", "xpu", "nic", "memory", "port", "switch"});
  if (c.type == kCustom) c.type = r.object(kCustom).required<std::string>("type");
  static const Regex nvswitch(R"((?i)nv-?_?(l|link)?-?_?sw(itch)?[0-9]*)");  // of the package's blueprints
  if (nvswitch.whole(c.type) || (nvswitch.whole(c.name) && c.type == kCustom)) c.type = "switch";
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
  const bool one_by_one = r.choice("scheme", {"one2one", "many2many"}) == "one2one";
  if (left.size() * right.size() > kMostPairs && !one_by_one)
    r.fail("scheme", fmt::format("joins more than {} pairs", kMostPairs));
  const auto join = [&](const Node& a, const Node& b) {
    const int number = static_cast<int>(link - device.links.begin());
    if (a == b || !seen.emplace(std::min(a, b), std::max(a, b), number).second) return;
    device.edges.push_back({a, b, number, r.pointer()});
  };
  if (one_by_one)
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

namespace {

using topology_import::PcieLink;
using topology_import::TopologyRequest;

constexpr int kLanes = 16;  // of a GPU or adapter, where nothing says

std::string words(const Link& link) {
  std::string text = link.name + " " + link.description;
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

[[noreturn]] void refuse(const Device& device, const Link& link, const std::string& what) {
  throw InputError(device.file, link.pointer, "link '" + link.name + "': " + what);
}

/// First group of a pattern in the words of a link, as a number; 0 without a match.
int number_in(const std::string& text, const char* pattern) {
  const Match match = Regex(pattern).find(text);
  return match ? std::stoi(match[1]) : 0;
}

/// A kind in full; of those of several generations with its number.
bool is_kind(const std::string& text) {
  const CableKind* row = find_cable_kind(text);
  return row && row->family != CableFamily::kNetwork && (!row->open() || cable_generation(text) > 0);
}

CableFacts one_link(std::string_view kind) { return {std::string(kind), 1, {find_cable_kind(kind)->rate_Bps}, ""}; }
CableFacts one_link(const SocketLink& socket) { return {socket.kind, 1, socket.rate, ""}; }

/// Names that linkcast's own export writes: "2 x nvlink2", "pcie3", "nvlink2 (2)".
std::optional<CableFacts> own_name(const Link& link) {
  static const Regex pattern("(?:([1-9][0-9]{0,2}) x )?([a-z0-9_]+)(?: \\([0-9]+\\))?");
  Match match;
  if (!link.bytes_per_s || !(match = pattern.whole(link.name)) || !is_kind(match[2])) return std::nullopt;
  const int count = match.has(1) ? std::stoi(match[1]) : 1;
  return CableFacts{match[2], count, {*link.bytes_per_s / count}, ""};
}

CableFacts nvlink(const Device& device, const Link& link, const std::string& text, const Ends& ends,
                  const TopologyRequest& request) {
  const auto type = nvlink_of(ends.sm);
  const int named = number_in(text, "nv-?link[ _-]?(?:gen)?[ _-]?([1-9])");
  const int generation = request.number("nvlink").value_or(named > 0 ? named : type ? type->generation : 0);
  if (generation == 0) refuse(device, link, "does not say which NVLink this is: add option nvlink=GENERATION");
  const auto of_generation = nvlink_of_generation(generation);
  if (!of_generation)
    refuse(device, link, "NVLink is known of generation " + known_generations(CableFamily::kAccelerator));
  const bool of_gpu = type && type->generation == generation;
  const double nominal = (of_gpu ? type : of_generation)->rate.si;
  CableFacts cable{of_generation->kind(), 1, {nominal}, ""};
  const int share = ends.gpu_edges > 0 ? ends.gpu_links / ends.gpu_edges : 0;
  if (!link.bytes_per_s && share > 1 && share * ends.gpu_edges == ends.gpu_links) {
    cable.count = share;
    cable.note = fmt::format("assumed: {} links, of the {} of the GPU's model on its {} edges, at their nominal rate",
                             share, ends.gpu_links, ends.gpu_edges);
    return cable;
  }
  if (!link.bytes_per_s) {
    cable.note = "assumed: one link at its nominal rate, the file gives none";
    return cable;
  }
  const double links = *link.bytes_per_s / nominal, whole = std::round(links);
  if (whole >= 1 && std::abs(links - whole) < 1e-6) {  // source: rates are decimal fractions of GB/s
    cable.count = static_cast<int>(whole);
    if (cable.count > 1) cable.note = "assumed: so many links, from the rate of all together";
  } else {
    cable.rate.si = *link.bytes_per_s;
    cable.note = "assumed: one link";
  }
  return cable;
}

CableFacts pcie(const Device& device, const Link& link, const std::string& text, const Ends& ends,
                const TopologyRequest& request) {
  const auto told = request.pcie();
  PcieLink port{number_in(text, "(?:pcie|pci express|\\bgen)[ _-]*(?:gen)?[ _-]*([1-9])(?:[^0-9]|$)"),
                number_in(text, "\\bx([1-9][0-9]?)\\b")};
  if (link.transfers_GT)
    for (int g = 1; pcie_lane(g); ++g)
      if (*link.transfers_GT == pcie_transfers_GT(g)) port.generation = g;
  if (!pcie_lane(port.generation)) port.generation = 0;
  std::string note;
  if (port.generation == 0 && told) port = *told;
  if (port.generation == 0 && ends.pcie > 0) {
    port.generation = ends.pcie;
    note = fmt::format("assumed: PCIe {}, the generation of the GPU's model", ends.pcie);
  }
  if (port.generation == 0) refuse(device, link, "does not say which PCIe this is: add option pcie=4x16");
  if (port.width == 0) {
    port.width = told ? told->width : kLanes;
    if (!told && !link.bytes_per_s) note += fmt::format("{}{} lanes", note.empty() ? "assumed: " : ", ", port.width);
  }
  const BytesPerSecond rate = link.bytes_per_s ? BytesPerSecond{*link.bytes_per_s} : port.rate();
  return {port.kind(), 1, rate, note};
}

/// Kinds that their name alone tells, with the nominal rate of one link where the file gives none.
std::optional<CableFacts> named(const std::string& text, const Ends& ends) {
  const auto has = [&](const char* pattern) { return bool{Regex(pattern).find(text)}; };
  if (has("c2c")) return one_link("c2c");
  if (has("\\bqpi\\b")) return one_link("qpi");
  if (has("\\bupi\\b|ultra path")) return one_link(socket_link("intel"));
  if (has("x-?bus")) return one_link(socket_link("ibm"));
  if (!has("infinity|xgmi")) return std::nullopt;
  if (ends.cpus) return one_link(socket_link("amd"));
  return one_link(ends.a_cpu ? "infinity_fabric_host" : "infinity_fabric");
}

}  // namespace

bool is_accelerator_link(const Link& link) {
  return bool{Regex("nv-?link|nvswitch|c2c|xgmi|infinity").find(words(link))};
}

CableFacts cable_of(const Device& device, const Link& link, const Ends& ends, const TopologyRequest& request) {
  if (auto own = own_name(link)) return *own;
  const std::string text = words(link);
  std::optional<CableFacts> cable = named(text, ends);
  const bool nv{Regex("nv-?link").find(text)};
  if (!cable && nv && ends.cpus) refuse(device, link, "NVLink between CPUs: call it 'nvlink_cpu' and give its rate");
  if (!cable && nv) return nvlink(device, link, text, ends, request);
  if (!cable && text.find("pci") != std::string::npos) return pcie(device, link, text, ends, request);
  if (!cable && ends.cpus) {
    const SocketLink socket = socket_link(ends.vendor);
    cable = CableFacts{socket.kind, 1, socket.rate, "assumed: " + socket.kind + " from the CPU's maker, one link"};
  }
  if (!cable)
    refuse(device, link,
           "neither name nor description says what it is: one of " + known_cable_kinds() + ", as in '2 x nvlink2'");
  if (link.bytes_per_s)
    cable->rate.si = *link.bytes_per_s;
  else if (cable->note.empty())
    cable->note = "assumed: one link at its nominal rate, the file gives none";
  return *cable;
}

}  // namespace linkcast::infragraph
