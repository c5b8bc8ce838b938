#include "sim/machine/fabric.hpp"

#include <algorithm>
#include <cstdint>
#include <set>

#include "sim/base/input_error.hpp"
#include "sim/base/random.hpp"

namespace linkcast {
namespace {

/// @param flow  number of it among those of both ends
int hashed_route(int from, int to, int routes, int flow) {
  auto both = (static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint64_t>(to);
  for (int i = 0; i < flow; ++i) both = mixed(both + 1);
  return static_cast<int>(mixed(both) % static_cast<std::uint64_t>(routes));
}

}  // namespace

const std::vector<std::string>& fabric_routing_names() {
  static const std::vector<std::string> names = {"minimal", "ecmp", "valiant", "adaptive"};
  return names;
}

FabricRouting parse_fabric_routing(const std::string& text) {
  const auto& names = fabric_routing_names();
  const auto it = std::find(names.begin(), names.end(), text);
  if (it != names.end()) return static_cast<FabricRouting>(it - names.begin());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  throw InputError("routing '" + text + "': one of " + list);
}

void add_fabric_links(const Fabric& fabric, FabricRouting routing, int from, int to, std::vector<WeightedLink>& links,
                      int most, int flows) {
  const int detours = routing == FabricRouting::kValiant ? fabric.detours(from, to) : 0;
  const int ways = detours > 0 ? detours : fabric.minimal_ways(from, to);
  const bool all = routing == FabricRouting::kAdaptive || routing == FabricRouting::kValiant;
  const bool hashed = routing == FabricRouting::kEcmp;
  const int first = (all && ways <= most) || hashed ? 0 : to % ways;
  const int taken = all ? std::min(ways, most) : hashed ? flows : 1;
  std::vector<int> way;
  for (int i = 0; i < taken; ++i) {
    const int which = hashed ? hashed_route(from, to, ways, i)
                             : static_cast<int>((first + static_cast<std::int64_t>(i) * ways / taken) % ways);
    way.clear();
    if (detours > 0)
      fabric.detour(from, to, which, way);
    else
      fabric.minimal_way(from, to, which, way);
    for (const int link : way) links.push_back({link, 1.0 / taken});
  }
}

Seconds fabric_latency(const Fabric& fabric, int from, int to) {
  std::vector<int> way;
  fabric.minimal_way(from, to, 0, way);
  return fabric_latency(fabric, way);
}

Seconds fabric_latency(const Fabric& fabric, const std::vector<int>& way) {
  Seconds sum;
  for (const int link : way)
    sum.si += fabric.classes()[static_cast<std::size_t>(fabric.link(link).link_class)].latency.si;
  return sum;
}

namespace {

// source: NCCL user guide, NCCL_IB_QPS_PER_CONNECTION: 1 to 128
constexpr int kMostFlows = 128;

int read_flows(ObjectReader& parameters, const std::string& routing) {
  const int flows = parameters.optional<int>("flows").value_or(1);
  if (flows < 1 || flows > kMostFlows) parameters.fail("flows", "must be 1 to " + std::to_string(kMostFlows));
  if (flows > 1 && parse_fabric_routing(routing) != FabricRouting::kEcmp)
    parameters.fail("flows",
                    "are of routing ecmp, whose hash takes each by itself; with " + routing + " nothing changes");
  return flows;
}

/// The NICs that a cable of the fabric ends at: those that "nics" names, else every one of the node.
std::vector<int> connected_nics(const Topology& topology, ObjectReader& parameters) {
  std::vector<int> nics;
  if (const auto names = parameters.optional<std::vector<std::string>>("nics")) {
    std::set<std::string> seen;
    for (const std::string& name : *names) {
      const auto device = topology.find(name);
      if (!device || topology.devices[static_cast<std::size_t>(*device)].kind != DeviceKind::kNic)
        parameters.fail("nics", "'" + name + "' is no nic among the devices");
      if (!seen.insert(name).second) parameters.fail("nics", "'" + name + "' is listed twice");
      nics.push_back(*device);
    }
    if (nics.empty()) parameters.fail("nics", "names no nic");
    return nics;
  }
  for (std::size_t i = 0; i < topology.devices.size(); ++i)
    if (topology.devices[i].kind == DeviceKind::kNic) nics.push_back(static_cast<int>(i));
  if (nics.empty()) parameters.fail("", "a fabric joins the nics of nodes, and this node has none");
  return nics;
}

}  // namespace

const std::vector<std::string>& plugin_tuners() {
  static const std::vector<std::string> names = {"p5", "p5en", "p6_b200", "p6_b300", kUnknownTuner};
  return names;
}

NetworkPlugin plugin_of(const Topology& topology) {
  NetworkPlugin plugin;
  if (!topology.fabric.is_object() || !topology.fabric.contains("plugin")) return plugin;
  ObjectReader r(topology.fabric["plugin"], topology.path, "/fabric/plugin");
  plugin.reported_s = r.seconds("latency").si;
  plugin.without = r.optional<std::vector<std::string>>("without").value_or(std::vector<std::string>{});
  std::set<std::string> left = {"LL", "LL128", "Simple"};
  for (const std::string& name : plugin.without)
    if (left.erase(name) == 0 && name != kMulticast)
      r.fail("without", "'" + name + "' is none of LL, LL128, Simple, NVLS");
  if (left.empty()) r.fail("without", "leaves no protocol");
  if (r.has("tuner")) plugin.tuner = r.choice("tuner", plugin_tuners());
  if (r.has("buffer")) plugin.buffer_B = r.bytes("buffer").si;
  if (r.required<std::string>("source").empty()) r.fail("source", "a figure without a source is not accepted");
  r.finish();
  return plugin;
}

BuiltFabric build_fabric(const Topology& topology) {
  if (topology.fabric.is_null())
    throw InputError(topology.path, "/fabric", "missing: this platform describes no network between nodes");
  ObjectReader parameters(topology.fabric, topology.path, "/fabric");
  BuiltFabric built;
  std::vector<std::string> names;
  for (const PluginInfo& info : fabric_generators().list()) names.push_back(info.name);
  built.generator = parameters.choice("generator", names);
  built.source = parameters.required<std::string>("source");
  if (built.source.empty()) parameters.fail("source", "a fabric without a source is not accepted");
  built.routing = parameters.choice("routing", fabric_routing_names());
  built.flows = read_flows(parameters, built.routing);
  if (const auto sharp = parameters.optional<std::string>("sharp"); sharp && sharp->empty())
    parameters.fail("sharp", "must say where it is known from that the switches reduce");
  if (parameters.has("plugin")) static_cast<void>(parameters.raw("plugin"));
  static_cast<void>(plugin_of(topology));
  built.nics = connected_nics(topology, parameters);
  const FabricGenerator& generator = fabric_generators().get(built.generator);
  built.fabric = generator.build(parameters, static_cast<int>(built.nics.size()));
  return built;
}

std::unique_ptr<Fabric> make_fabric(const Topology& topology) { return build_fabric(topology).fabric; }

}  // namespace linkcast
