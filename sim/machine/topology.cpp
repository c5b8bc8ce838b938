#include "sim/machine/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "sim/base/file_hash.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/pci_bus_id.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast {
namespace {

template <class Engine, class Visitor>
void each_figure(Engine& engine, Visitor&& visit) {
  visit("read_request", engine.read_request);
  visit("read_interval", engine.read_interval);
  visit("read_window", engine.read_window);
  visit("head_latency", engine.head_latency);
  visit("transmit_start", engine.transmit_start);
  visit("gpu_read", engine.gpu_read);
  visit("host_read", engine.host_read);
  visit("packet", engine.packet);
  visit("message_overhead", engine.message_overhead);
  visit("staged_overhead", engine.staged_overhead);
}

void take(ObjectReader& r, const char* name, Bytes& value) { value = r.bytes(name); }
void take(ObjectReader& r, const char* name, Seconds& value) { value = r.seconds(name); }
void take(ObjectReader& r, const char* name, BytesPerSecond& value) { value = r.bandwidth(name); }

void parse(const std::string& text, Bytes& value) { value = parse_bytes(text); }
void parse(const std::string& text, Seconds& value) { value = parse_seconds(text); }
void parse(const std::string& text, BytesPerSecond& value) { value = parse_bandwidth(text); }

/// The first figure that must be above 0 and is not; nullptr if all are.
const char* not_positive(const NicEngine& e) {
  if (!(e.read_request.si > 0)) return "read_request";
  if (!(e.read_interval.si > 0)) return "read_interval";
  if (!(e.gpu_read.si > 0)) return "gpu_read";
  if (!(e.host_read.si > 0)) return "host_read";
  if (!(e.packet.si > 0)) return "packet";
  return nullptr;
}

}  // namespace

BytesPerSecond NicEngine::steady_read() const {
  const double asked = std::min(read_request.si / read_interval.si, gpu_read.si);
  if (!(read_window.si > 0)) return {packet.si / (transmit_start.si + head_latency.si + packet.si / asked)};
  return {std::min(asked, read_window.si / (head_latency.si + read_window.si / 2 / asked))};
}

void NicEngine::slow_down(double factor) {
  for (Seconds* time : {&read_interval, &head_latency, &transmit_start}) time->si *= factor;
  for (BytesPerSecond* rate : {&gpu_read, &host_read}) rate->si /= factor;
}

double NicEngine::whole_packets_B(double bytes) const { return std::ceil(bytes / packet.si) * packet.si; }

std::vector<std::pair<std::string, double>> NicEngine::figures() const {
  std::vector<std::pair<std::string, double>> all;
  each_figure(*this, [&](const char* figure, const auto& value) { all.emplace_back(figure, value.si); });
  return all;
}

bool NicEngine::set(const std::string& name, const std::string& text) {
  bool found = false;
  each_figure(*this, [&](const char* figure, auto& value) {
    if (figure != name) return;
    parse(text, value);
    found = true;
  });
  if (const char* bad = not_positive(*this)) throw UnitError(std::string(bad) + " must be above 0");
  return found;
}

NicEngine read_nic_engine(ObjectReader r) {
  NicEngine engine;
  each_figure(engine, [&](const char* figure, auto& value) { take(r, figure, value); });
  engine.source = r.required<std::string>("source");
  if (engine.source.empty()) r.fail("source", "figures without a source are not accepted");
  if (const char* bad = not_positive(engine)) r.fail(bad, "must be above 0");
  r.finish();
  return engine;
}

namespace {

const std::array<std::string, 6> kDeviceKinds = {"gpu", "cpu", "pcie_switch", "nvswitch", "nic", "switch"};

bool starts_with(const std::string& text, std::string_view prefix) { return text.rfind(prefix, 0) == 0; }

std::optional<int> gpu_number(const std::string& id) {
  if (!starts_with(id, "gpu")) return std::nullopt;
  int number = -1;
  const auto [end, error] = std::from_chars(id.data() + 3, id.data() + id.size(), number);
  if (error != std::errc() || end != id.data() + id.size() || number < 0) return std::nullopt;
  if (id != fmt::format("gpu{}", number)) return std::nullopt;  // gpu01
  return number;
}

Device read_device(ObjectReader r) {
  Device d;
  d.id = r.required<std::string>("id");
  const auto kind = r.choice("kind", {kDeviceKinds.begin(), kDeviceKinds.end()});
  d.kind = static_cast<DeviceKind>(std::find(kDeviceKinds.begin(), kDeviceKinds.end(), kind) - kDeviceKinds.begin());
  d.model = r.optional<std::string>("model").value_or("");
  d.sm = r.optional<int>("sm").value_or(0);
  d.group = r.optional<std::string>("group").value_or("");
  if (r.has("vendor")) d.vendor = r.choice("vendor", {"intel", "amd", "ibm", "arm"});
  if (auto engine = r.optional_object("engine")) {
    if (d.kind != DeviceKind::kNic) r.fail("engine", "belongs to a nic");
    d.engine = read_nic_engine(std::move(*engine));
  }
  for (const char* key : {"uuid", "bus_id"})
    if (r.has(key) && d.kind != DeviceKind::kGpu) r.fail(key, "belongs to a gpu");
  d.uuid = r.optional<std::string>("uuid").value_or("");
  if (r.has("bus_id")) {
    const auto bus_id = r.required<std::string>("bus_id");
    d.bus_id = pci_bus_id(bus_id);
    if (d.bus_id.empty()) r.fail("bus_id", "'" + bus_id + "' is no PCI bus id, e.g. 0000:1b:00.0");
  }
  if (d.kind == DeviceKind::kGpu && d.sm <= 0) r.fail("sm", "a gpu needs its compute capability x 10, e.g. 60");
  r.finish();
  return d;
}

Cable read_cable(ObjectReader r, const Topology& topology) {
  Cable c;
  const auto ends = r.required<std::vector<std::string>>("between");
  if (ends.size() != 2) r.fail("between", "must name two devices");
  for (int end = 0; end < 2; ++end) {
    const auto device = topology.find(ends[static_cast<std::size_t>(end)]);
    if (!device)
      throw InputError(r.file(), fmt::format("{}/{}", r.pointer("between"), end),
                       "no device '" + ends[static_cast<std::size_t>(end)] + "' above");
    (end == 0 ? c.a : c.b) = *device;
  }
  if (c.a == c.b) r.fail("between", "a cable joins two different devices");
  c.id = ends[0] + "-" + ends[1];
  c.kind = r.required<std::string>("kind");
  if (!find_cable_kind(c.kind))
    r.fail("kind", "unknown cable kind '" + c.kind + "': " + known_cable_kinds() + " are known");
  c.count = r.required<int>("count");
  if (c.count < 1) r.fail("count", "must be at least 1");
  c.bandwidth = r.bandwidth("bandwidth");
  if (c.bandwidth.si <= 0) r.fail("bandwidth", "must be above 0");
  c.source = r.required<std::string>("source");
  if (c.source.empty()) r.fail("source", "a rate without a source is not accepted");
  r.finish();
  return c;
}

/// "a-b" becomes "a-b:kind" where several kinds join the same devices; the same kind twice is an error.
void name_cables(Topology& topology) {
  std::map<std::pair<int, int>, std::vector<Cable*>> by_ends;
  for (Cable& cable : topology.cables) by_ends[std::minmax(cable.a, cable.b)].push_back(&cable);
  for (auto& [ends, cables] : by_ends) {
    std::set<std::string> kinds;
    for (Cable* cable : cables) {
      cable->id = topology.devices[static_cast<std::size_t>(cable->a)].id + "-" +
                  topology.devices[static_cast<std::size_t>(cable->b)].id;
      if (!kinds.insert(cable->kind).second)
        throw InputError(topology.path, "/cables",
                         "'" + cable->id + "' (" + cable->kind + ") is listed twice: give it once with a count");
      if (cables.size() > 1) cable->id += ":" + cable->kind;
    }
  }
}

}  // namespace

const std::string& to_text(DeviceKind kind) { return kDeviceKinds.at(static_cast<std::size_t>(kind)); }

bool is_accelerator_cable(const std::string& kind) { return is_of_family(kind, CableFamily::kAccelerator); }
bool is_pcie_cable(const std::string& kind) { return is_of_family(kind, CableFamily::kPcie); }
bool is_socket_cable(const std::string& kind) { return is_of_family(kind, CableFamily::kSocket); }
bool is_fabric_cable(const std::string& kind) { return is_of_family(kind, CableFamily::kNetwork); }

std::optional<int> Topology::find(const std::string& device_id) const {
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i].id == device_id) return static_cast<int>(i);
  return std::nullopt;
}

const Cable* Topology::direct(int a, int b) const {
  for (const Cable& cable : cables)
    if (std::minmax(cable.a, cable.b) == std::minmax(a, b) && is_accelerator_cable(cable.kind)) return &cable;
  return nullptr;
}

int Topology::direct_links(int a, int b) const {
  const Cable* cable = direct(a, b);
  return cable ? cable->count : 0;
}

std::set<std::string> Topology::cable_kinds() const {
  std::set<std::string> kinds;
  for (const Cable& cable : cables) kinds.insert(cable.kind);
  if (!fabric.is_object() || !fabric.contains("links")) return kinds;
  for (const Json& link : fabric.at("links"))
    if (link.is_object() && link.contains("cable") && link.at("cable").is_string())
      kinds.insert(link.at("cable").get<std::string>());
  return kinds;
}

void Topology::index() {
  std::map<int, int> by_number;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Device& device = devices[i];
    const std::string pointer = fmt::format("/devices/{}/id", i);
    if (!seen.insert(device.id).second) throw InputError(path, pointer, "duplicate device '" + device.id + "'");
    if (device.kind != DeviceKind::kGpu) continue;
    const auto number = gpu_number(device.id);
    if (!number) throw InputError(path, pointer, "'" + device.id + "': a gpu is called gpu<number>");
    by_number[*number] = static_cast<int>(i);
  }
  gpus_.clear();
  for (const auto& [number, device] : by_number) {
    if (number != static_cast<int>(gpus_.size()))
      throw InputError(path, "/devices", fmt::format("gpu{} is missing: gpus count from 0 without gaps", gpus_.size()));
    gpus_.push_back(device);
  }
  if (gpus_.empty()) throw InputError(path, "/devices", "no gpu");
  name_cables(*this);
}

Topology read_topology(const std::string& path) { return read_topology(read_json_file(path), path); }

Topology read_topology(const Json& json, const std::string& path) {
  Topology t = parse_topology(json, path);
  t.sha256 = sha256_of_file(path);
  return t;
}

Topology parse_topology(const Json& json, const std::string& path) {
  ObjectReader r(json, path);
  r.schema("topology/1");
  Topology t;
  t.path = path;
  t.name = r.required<std::string>("name");
  t.title = r.required<std::string>("title");
  t.source = r.required<std::string>("source");
  t.pcie_peer = read_spelled<PciePeer>(r, "pcie_peer").value();
  t.gpudirect_rdma = r.optional<bool>("gpudirect_rdma").value_or(true);
  t.inherits = r.optional<std::vector<std::string>>("inherits").value_or(std::vector<std::string>{});
  for (ObjectReader& d : r.objects("devices")) t.devices.push_back(read_device(d));
  for (ObjectReader& c : r.objects("cables")) t.cables.push_back(read_cable(c, t));
  if (r.has("fabric")) t.fabric = r.raw("fabric");
  r.finish();
  t.index();
  return t;
}

}  // namespace linkcast
