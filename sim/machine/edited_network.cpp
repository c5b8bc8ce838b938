#include "sim/machine/edited_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "sim/base/quantity.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/machine/edited_links.hpp"
#include "sim/machine/fabric.hpp"
#include "sim/machine/transport.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast {
namespace {

const std::string& verb_of(const Edit& edit) { return edit_verbs()[static_cast<std::size_t>(edit.verb)]; }

Json& fabric_of(const Edit& edit, Topology& topology) {
  if (!topology.fabric.is_object()) refuse(edit, topology.name + " has no fabric: say it with fabric or network");
  return topology.fabric;
}

/// Ids of the adapters that the fabric joins, or would join.
std::vector<std::string> joined_nics(const Topology& topology) {
  std::vector<std::string> ids;
  if (topology.fabric.is_object() && topology.fabric.contains("nics") && topology.fabric["nics"].is_array()) {
    for (const Json& one : topology.fabric["nics"])
      if (one.is_string()) ids.push_back(one.get<std::string>());
    return ids;
  }
  for (const Device& device : topology.devices)
    if (device.kind == DeviceKind::kNic) ids.push_back(device.id);
  return ids;
}

void join(const std::vector<std::string>& nics, Json& fabric) {
  fabric["nics"] = nics;
  if (fabric.contains("switches_per_node") && fabric["switches_per_node"].is_number_integer())
    fabric["switches_per_node"] = std::gcd(fabric["switches_per_node"].get<int>(), static_cast<int>(nics.size()));
}

bool has_gpu(const Topology& topology, std::string_view model) {
  return std::any_of(topology.devices.begin(), topology.devices.end(), [&](const Device& device) {
    return device.kind == DeviceKind::kGpu && device.model.find(model) != std::string::npos;
  });
}

/// "efa" is the network of that name, the only one that begins so, or that of the node's GPUs.
const Network& network_of(const Edit& edit, const Topology& topology) {
  std::vector<const Network*> begin_so;
  for (const Network& network : kNetworks) {
    if (network.name == edit.subject) return network;
    if (network.name.starts_with(edit.subject)) begin_so.push_back(&network);
  }
  const auto fits = [&](const Network* one) { return !one->gpu.empty() && has_gpu(topology, one->gpu); };
  if (begin_so.size() > 1 && std::count_if(begin_so.begin(), begin_so.end(), fits) == 1)
    std::erase_if(begin_so, [&](const Network* one) { return !fits(one); });
  if (begin_so.size() == 1) return *begin_so.front();
  std::vector<std::string> names;
  for (const Network& network : kNetworks)
    if (begin_so.empty() || network.name.starts_with(edit.subject)) names.emplace_back(network.name);
  refuse(edit, (begin_so.empty() ? "no such network: one of " : "several begin so: one of ") + listed(names));
}

struct NetworkKeys {
  int nodes = 0;
  double port_Bps = 0;
};
NetworkKeys keys_of(const Edit& edit) {
  NetworkKeys keys;
  for (const auto& [key, value] : edit.values) {
    try {
      if (key == "nodes")
        std::from_chars(value.data(), value.data() + value.size(), keys.nodes);
      else if (key == "bandwidth")
        keys.port_Bps = parse_bandwidth(value).si;
      else
        refuse(edit, "'" + key + "' is no key of a network: nodes, bandwidth");
    } catch (const UnitError& error) {
      refuse(edit, error.what());
    }
    if (key == "nodes" && keys.nodes < 2) refuse(edit, "nodes must be a number from 2 on");
    if (key == "bandwidth" && !(keys.port_Bps > 0)) refuse(edit, "a bandwidth must be above 0");
  }
  return keys;
}

/// A fabric of its own for so many nodes: rails where a node has several adapters, else leaves and spines.
Json made_fabric(const Json& before, int nodes, int nics) {
  const std::string generator = before.is_object() && before.contains("generator") && before["generator"] != "torus"
                                    ? before["generator"].get<std::string>()
                                : nics > 1 ? "rail_optimized"
                                           : "fat_tree";
  Json fabric{{"generator", generator}, {"source", ""}, {"routing", "ecmp"}};
  for (const char* key : {"routing", "nics", "sharp"})
    if (before.is_object() && before.contains(key)) fabric[key] = before[key];
  fabric.update(fabric_generators().get(generator).sized(nodes, nics));
  if (before.is_object() && before.contains("links"))
    for (auto& [name, links] : fabric["links"].items())
      if (before["links"].contains(name)) links = before["links"][name];
  return fabric;
}

/// Cables of the network; cables between switches keep what they carry beside a port.
void set_links(const Network& network, double port_Bps, const std::string& source, Json& fabric) {
  const double before = rate_of(port_of(fabric));
  Json links = Json::object();
  for (const auto& [name, old] : fabric["links"].items()) {
    const bool port = name == "host" || name == "torus";
    const double was = rate_of(old);
    const double rate_Bps = !port && before > 0 && was > 0 ? was / before * port_Bps : port_Bps;
    // source: 2 m of cable to a leaf, 20 m between switches, 5 ns a metre; half of the switch that two ports share
    const double latency_s = port ? 10e-9 + network.switch_s / 2 : 100e-9 + network.switch_s;
    links[name] = {{"cable", network.cable},
                   {"bandwidth", exact(rate_Bps)},
                   {"latency", fmt::format("{:.0f} ns", latency_s * 1e9)},
                   {"source", source}};
  }
  fabric["links"] = std::move(links);
}

/// Of messages and of NCCL's steps between nodes, of whatever library's version.
bool is_of_network(const std::string& name) {
  const ParameterName parts(name);
  if (Transports::crosses_network(parts.transport())) return true;
  return parts.of() == ParameterOf::kLibrary && parts.subject.find("network") != std::string_view::npos;
}

/// Says which cables in the node carry less than a port.
void note_narrow_cables(const Edit& edit, const Topology& topology, double port_Bps, std::vector<std::string>& notes) {
  for (const Cable& cable : topology.cables) {
    const auto is_nic = [&](int end) {
      return topology.devices[static_cast<std::size_t>(end)].kind == DeviceKind::kNic;
    };
    if ((!is_nic(cable.a) && !is_nic(cable.b)) || cable.count * cable.bandwidth.si >= port_Bps) continue;
    notes.push_back(fmt::format("edit '{}': {} ({}) carries {:.3g} of a port's {:.3g} GB/s: 'swap' changes it",
                                edit.text, cable.id, cable.kind, cable.count * cable.bandwidth.si / 1e9,
                                port_Bps / 1e9));
    return;
  }
}

void put(const ParameterKey& key, const NetworkFigure& figure, const Network& network, Calibration& calibration) {
  if (figure.value > 0)
    calibration.parameters[key.name] = {figure.value, figure.value * figure.spread, std::string(key.row->unit),
                                        fmt::format("edited: network {}", network.name)};
}

void put_costs(const Network& network, double port_Bps, int nics, Calibration& calibration) {
  std::erase_if(calibration.parameters, [](const auto& item) { return is_of_network(item.first); });
  const NetworkFigure share{kUnmeasuredShare * port_Bps, kUnmeasuredError};
  const NetworkFigure host{network.host_Bps.value / nics, network.host_Bps.spread};
  const NetworkFigure attained = host.value > 0 && host.value < share.value ? host : share;
  for (const auto& [transport, startup] :
       {std::pair{"mpi_network", network.message_s}, std::pair{"mpi_network_host", network.host_message_s}}) {
    if (startup.value <= 0) continue;
    put(key::startup(transport, 0), startup, network, calibration);
    put(key::range_bandwidth(transport, 0), attained, network, calibration);
  }
  for (const char* protocol : {"LL", "LL128", "Simple"})
    put(key::network_hop[protocol].of_all("nccl"),
        std::string_view(protocol) == "Simple" ? network.simple_hop_s : network.hop_s, network, calibration);
  for (const char* algorithm : {"nvls_tree", "pat"})
    put({fmt::format("nccl.{}.network_hop_s", algorithm), &key::library_network_hop}, network.simple_hop_s, network,
        calibration);
  put(key::network_proxy.of_all("nccl"), network.proxy_Bps, network, calibration);
}

}  // namespace

std::string summary_of(const Network& network) {
  std::string text = network.port_Bps > 0 ? fmt::format("{:.0f} Gb/s a port", network.port_Bps * 8 / 1e9)
                                          : std::string("adapters as they are");
  if (network.hop_s.value > 0) text += fmt::format(", {:.3g} us a step of NCCL", network.hop_s.value * 1e6);
  if (network.host_Bps.value > 0) text += fmt::format(", {:.3g} GB/s a node", network.host_Bps.value / 1e9);
  if (network.told_s > 0) text += fmt::format(", {:.0f} us told to its tuner", network.told_s * 1e6);
  if (!network.without.empty()) text += ", without " + joined(split(std::string(network.without), ' '), " and ");
  if (!network.gpudirect) text += ", over host memory";
  if (!network.gpu.empty()) text += fmt::format("; of nodes of {}", network.gpu);
  return text;
}

void edit_network(const Edit& edit, Topology& topology, Calibration& calibration, std::vector<std::string>& notes) {
  const Network& network = network_of(edit, topology);
  const NetworkKeys keys = keys_of(edit);
  std::vector<std::string> nic_ids = joined_nics(topology);
  if (nic_ids.empty())
    refuse(edit, topology.name + " has no adapter (nic): a topology of its own says where they hang");
  constexpr int kNodes = 128;  // source: ours, where neither the edit nor a fabric says how many
  const std::string source = fmt::format("network {}: {}", network.name, network.source);
  Json fabric = topology.fabric;
  if (network.one_adapter && !(fabric.is_object() && fabric.contains("nics"))) nic_ids.resize(1);
  const auto nics = static_cast<int>(nic_ids.size());
  if (keys.nodes > 0 || !fabric.is_object()) fabric = made_fabric(fabric, keys.nodes > 0 ? keys.nodes : kNodes, nics);
  const double port_Bps = keys.port_Bps > 0      ? keys.port_Bps
                          : network.port_Bps > 0 ? network.port_Bps
                                                 : rate_of(port_of(fabric));
  if (!(port_Bps > 0)) refuse(edit, "say what a port carries: " + edit.subject + ":bandwidth=12.5GB/s");
  set_links(network, port_Bps, source, fabric);
  fabric["source"] = "assumed: what-if edit '" + edit.text + "'";
  if (network.one_adapter) join(nic_ids, fabric);
  fabric.erase("plugin");
  if (network.told_s > 0 || !network.without.empty())
    fabric["plugin"] = {
        {"latency", fmt::format("{:.0f} us", network.told_s * 1e6)},
        {"without", network.without.empty() ? std::vector<std::string>() : split(std::string(network.without), ' ')},
        {"source", network.source}};
  topology.fabric = std::move(fabric);
  topology.reported_rates.clear();
  topology.gpudirect_rdma = topology.gpudirect_rdma && network.gpudirect;
  drop_orphans(topology, calibration);
  put_costs(network, port_Bps, nics, calibration);
  note_narrow_cables(edit, topology, port_Bps, notes);
  notes.push_back(
      fmt::format("edit '{}': nothing was measured of {} here; {}", edit.text, network.name, network.source));
}

void edit_nics(const Edit& edit, Topology& topology) {
  Json& fabric = fabric_of(edit, topology);
  const std::vector<std::string> there = joined_nics(topology);
  const auto all = static_cast<int>(there.size());
  if (edit.count > all) refuse(edit, fmt::format("the fabric joins {} adapters of a node", all));
  std::vector<std::string> kept;
  for (int i = 0; i < edit.count; ++i) kept.push_back(there[static_cast<std::size_t>(i * all / edit.count)]);
  join(kept, fabric);
}

void edit_oversubscription(const Edit& edit, Topology& topology) {
  Json& fabric = fabric_of(edit, topology);
  for (const char* above : {"leaf_spine", "leaf_aggregation"}) {
    const char* ports = fabric.contains("nodes_per_unit") ? "nodes_per_unit" : "endpoints_per_leaf";
    if (!fabric.contains("links") || !fabric["links"].contains(above) || !fabric.contains(ports) ||
        !fabric.contains("uplinks_per_leaf"))
      continue;
    const double down_Bps = fabric[ports].get<double>() * rate_of(port_of(fabric));
    Json& links = fabric["links"][above];
    links["bandwidth"] = exact(down_Bps / (edit.factor * fabric["uplinks_per_leaf"].get<double>()));
    links["source"] = "assumed: what-if edit '" + edit.text + "'";
    return;
  }
  refuse(edit, "the fabric of " + topology.name + " (" + fabric.value("generator", "") +
                   ") has no leaves with cables up: rail_optimized and fat_tree have");
}

void check_network(const std::vector<Edit>& edits, const Topology& topology) {
  const Edit& edit = edits.front();
  Topology wiring = topology;
  wiring.path = "edit '" + edit.text + "'";  // where a wrong value came from
  try {
    static_cast<void>(build_fabric(wiring));
    return;
  } catch (const InputError& error) {
    const Json& fabric = topology.fabric;
    const std::string generator = fabric.value("generator", "");
    const auto known = fabric_generators().list();
    const bool is_known =
        std::any_of(known.begin(), known.end(), [&](const PluginInfo& info) { return info.name == generator; });
    if (edit.verb != EditVerb::kFabric || !is_known || !fabric.contains("nodes") ||
        !fabric["nodes"].is_number_integer() || fabric["nodes"].get<int>() < 1)
      throw;
    const auto nics = static_cast<int>(joined_nics(topology).size());
    std::vector<std::string> missing;
    std::string fitting = generator;
    const Json sized = fabric_generators().get(generator).sized(fabric["nodes"].get<int>(), nics);
    for (const auto& [key, value] : sized.items()) {
      if (key == "links") continue;
      if (!fabric.contains(key)) missing.push_back(key);
      std::string text = value.dump();
      if (value.is_array()) {
        text.clear();
        for (const Json& one : value) text += (text.empty() ? "" : "x") + one.dump();
      }
      fitting += (fitting == generator ? ":" : ",") + key + "=" + text;
    }
    for (const auto& [name, links] : sized["links"].items()) {
      const std::string key = "links." + name + ".latency";
      if (links.empty() || (fabric.contains("links") && fabric["links"].contains(name))) continue;
      missing.push_back(key);
      fitting += "," + key + "=" + links["latency"].get<std::string>();
    }
    throw InputError(std::string(error.what()) + (missing.size() > 1 ? "; missing: " + joined(missing) : "") +
                     "; so many nodes fit: " + verb_of(edit) + " " + fitting);
  }
}

}  // namespace linkcast
