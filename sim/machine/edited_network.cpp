#include "sim/machine/edited_network.hpp"

#include <fmt/format.h>

#include <algorithm>
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
  refuse(edit, (begin_so.empty() ? "no such network: one of " : "several begin so, none for these GPUs: one of ") +
                   listed(names));
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
        keys.nodes = whole_number(value);
      else if (key == "bandwidth")
        keys.port_Bps = parse_bandwidth(value).si;
      else
        refuse(edit, "'" + key + "' is no key of a network: nodes, bandwidth");
    } catch (const UnitError& error) {
      refuse(edit, error.what());
    }
    constexpr int kMost = 1 << 20;                        // source: ours, far above any machine
    constexpr double kLeast_Bps = 1e6, kMost_Bps = 1e13;  // source: ours, 8 Mb/s and 80 Tb/s are typing errors
    if (key == "nodes" && (keys.nodes < 2 || keys.nodes > kMost))
      refuse(edit, fmt::format("nodes must be a whole number from 2 to {}", kMost));
    if (key == "bandwidth" && !(keys.port_Bps >= kLeast_Bps && keys.port_Bps <= kMost_Bps))
      refuse(edit, "a port carries 1 MB/s to 10 TB/s");
  }
  return keys;
}

/// A fabric of its own for so many nodes: rails where a node has several adapters, else leaves and spines.
Json sized_fabric(const Json& before, int nodes, int nics) {
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

/// Costs of messages and of NCCL's steps between nodes, of whatever library's version.
bool is_of_network(const std::string& name) {
  const ParameterName parts(name);
  if (Transports::crosses_network(parts.transport())) return true;
  return parts.of() == ParameterOf::kLibrary && parts.subject.find("network") != std::string_view::npos;
}

/// Says which cables in the node carry less than a port.
/// @param nics  ids of those that the fabric joins
void note_narrow_cables(const Edit& edit, const Topology& topology, const std::vector<std::string>& nics,
                        double port_Bps, std::vector<std::string>& notes) {
  for (const Cable& cable : topology.cables) {
    const auto is_nic = [&](int end) {
      return std::find(nics.begin(), nics.end(), topology.devices[static_cast<std::size_t>(end)].id) != nics.end();
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

void put_costs(const Network& network, double port_Bps, Calibration& calibration) {
  std::erase_if(calibration.parameters, [](const auto& item) { return is_of_network(item.first); });
  const NetworkFigure share{kUnmeasuredShare * port_Bps, kUnmeasuredError};
  const NetworkFigure attained =
      network.host_Bps.value > 0 && network.host_Bps.value < share.value ? network.host_Bps : share;
  for (const auto& [transport, startup] :
       {std::pair{"mpi_network", network.message_s}, std::pair{"mpi_network_host", network.host_message_s}}) {
    if (startup.value <= 0) continue;
    put(key::startup(transport, 0), startup, network, calibration);
    put(key::range_bandwidth(transport, 0), attained, network, calibration);
  }
  for (const char* family : {"nccl", "rccl"}) {
    for (const char* protocol : {"LL", "LL128", "Simple"})
      put(key::network_hop[protocol].of_all(family),
          std::string_view(protocol) == "Simple" ? network.simple_hop_s : network.hop_s, network, calibration);
    put(key::network_proxy.of_all(family), network.proxy_Bps, network, calibration);
  }
  for (const char* algorithm : {"nvls_tree", "pat"})
    put({fmt::format("nccl.{}.network_hop_s", algorithm), &key::library_network_hop}, network.simple_hop_s, network,
        calibration);
}

/// Asks for the number of nodes, from which the other keys follow.
std::string ask_with_nodes(const std::string& generator) {
  return "; edit 'fabric " + generator + ":nodes=N' says which keys N nodes take";
}

}  // namespace

std::string summary_of(const Network& network) {
  std::string text = network.port_Bps > 0 ? fmt::format("{:.0f} Gb/s a port", network.port_Bps * 8 / 1e9)
                                          : std::string("adapters as they are");
  if (network.hop_s.value > 0) text += fmt::format(", {:.3g} us a step of NCCL", network.hop_s.value * 1e6);
  if (network.host_Bps.value > 0) text += fmt::format(", {:.3g} GB/s a node", network.host_Bps.value / 1e9);
  if (network.reported_s > 0) text += fmt::format(", {:.0f} us reported to its tuner", network.reported_s * 1e6);
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
  if (network.one_adapter) nic_ids.resize(1);
  const auto nics = static_cast<int>(nic_ids.size());
  const double own_Bps = rate_of(port_of(fabric));
  if (keys.nodes > 0 || !fabric.is_object()) fabric = sized_fabric(fabric, keys.nodes > 0 ? keys.nodes : kNodes, nics);
  const double port_Bps = keys.port_Bps > 0 ? keys.port_Bps : network.port_Bps > 0 ? network.port_Bps : own_Bps;
  if (!(port_Bps > 0)) refuse(edit, "say what a port carries: " + edit.subject + ":bandwidth=12.5GB/s");
  set_links(network, port_Bps, source, fabric);
  set_source(edit, fabric);
  if (network.one_adapter) join(nic_ids, fabric);
  if (!network.cable.starts_with("ib_")) fabric.erase("sharp");
  fabric.erase("plugin");
  if (network.reported_s > 0 || !network.without.empty()) {
    fabric["plugin"] = {
        {"latency", fmt::format("{:.0f} us", network.reported_s * 1e6)},
        {"without", network.without.empty() ? std::vector<std::string>() : split(std::string(network.without), ' ')},
        {"source", network.source}};
    if (!network.tuner.empty()) fabric["plugin"]["tuner"] = network.tuner;
    if (!network.buffer.empty()) fabric["plugin"]["buffer"] = network.buffer;
  }
  topology.fabric = std::move(fabric);
  topology.reported_rates.clear();
  topology.gpudirect_rdma = topology.gpudirect_rdma && network.gpudirect;
  drop_orphans(topology, calibration);
  put_costs(network, port_Bps, calibration);
  if (network.host_Bps.value <= 0) note_narrow_cables(edit, topology, nic_ids, port_Bps, notes);
  notes.push_back(fmt::format("edit '{}': nothing was measured of {} here{}; {}", edit.text, network.name,
                              network.one_adapter ? ", which goes by one adapter, " + nic_ids.front() : "",
                              network.source));
}

void edit_nics(const Edit& edit, Topology& topology) {
  Json& fabric = fabric_of(edit, topology);
  const std::vector<std::string> there = joined_nics(topology);
  const auto all = static_cast<int>(there.size());
  if (edit.count > all) refuse(edit, fmt::format("the fabric joins {} adapters of a node", all));
  std::vector<std::string> kept;
  for (int i = 0; i < edit.count; ++i) kept.push_back(there[static_cast<std::size_t>(i * all / edit.count)]);
  join(kept, fabric);
  set_source(edit, fabric);
}

void edit_oversubscription(const Edit& edit, Topology& topology) {
  Json& fabric = fabric_of(edit, topology);
  for (const char* above : {"leaf_spine", "leaf_aggregation"}) {
    const char* ports = fabric.contains("nodes_per_unit") ? "nodes_per_unit" : "endpoints_per_leaf";
    if (!fabric.contains("links") || !fabric["links"].contains(above) || !fabric.contains(ports) ||
        !fabric.contains("uplinks_per_leaf") || !fabric[ports].is_number() || !fabric["uplinks_per_leaf"].is_number())
      continue;
    const double down_Bps = fabric[ports].get<double>() * rate_of(port_of(fabric));
    Json& links = fabric["links"][above];
    links["bandwidth"] = exact(down_Bps / (edit.factor * fabric["uplinks_per_leaf"].get<double>()));
    set_source(edit, links);
    set_source(edit, fabric);
    return;
  }
  const std::string generator = fabric.value("generator", "");
  if (generator == "rail_optimized" || generator == "fat_tree") {
    if (fabric.contains("nodes"))  // says which keys are missing
      check_network(parse_edit(fmt::format("fabric {}:nodes={}", generator, fabric["nodes"].dump())), topology);
    refuse(edit, "the fabric is not whole" + ask_with_nodes(generator));
  }
  refuse(edit, "the fabric of " + topology.name + " (" + generator +
                   ") has no leaves with cables up: rail_optimized and fat_tree have");
}

namespace {

std::string text_of(const Json& value) {
  if (!value.is_array()) return value.is_string() ? value.get<std::string>() : value.dump();
  std::string text;
  for (const Json& one : value) text += (text.empty() ? "" : "x") + one.dump();
  return text;
}

/// Keys that a fabric of so many nodes has, in the words of an edit; those of links are latencies.
std::vector<std::pair<std::string, std::string>> sized_keys(const Json& fabric, int nics) {
  std::vector<std::pair<std::string, std::string>> keys;
  const Json sized = fabric_generators().get(fabric["generator"]).sized(fabric["nodes"].get<int>(), nics);
  for (const auto& [key, value] : sized.items())
    if (key != "links") keys.emplace_back(key, text_of(value));
  for (const auto& [name, links] : sized["links"].items())
    if (!links.empty() && !(fabric.contains("links") && fabric["links"].contains(name)))
      keys.emplace_back("links." + name + ".latency", text_of(links["latency"]));
  return keys;
}

/// "; missing: a, b; so many nodes fit: fabric ..." of an edit that names nodes and cannot be built; "": nothing is
/// known that fits.
std::string what_fits(const Edit& edit, const Topology& topology) {
  if (edit.verb == EditVerb::kFabric && edit.subject == "listed")
    return "; a listed fabric is read from a file: JSON, or what ibnetdiscover or iblinkinfo print";
  const Json& fabric = topology.fabric;
  const auto generators = fabric_generators().list();
  const auto is_it = [&](const PluginInfo& info) { return info.name == edit.subject; };
  const auto names = [](const auto& keys, const std::string& key) {
    return std::any_of(keys.begin(), keys.end(), [&](const auto& one) { return one.first == key; });
  };
  if (edit.verb != EditVerb::kFabric || std::none_of(generators.begin(), generators.end(), is_it)) return "";
  if (!names(edit.values, "nodes")) return ask_with_nodes(edit.subject);
  if (whole_number(text_of(fabric["nodes"])) < 1) return "";
  auto keys = sized_keys(fabric, static_cast<int>(joined_nics(topology).size()));
  std::vector<std::string> missing;
  for (const auto& [key, value] : keys)
    if (key.starts_with("links.") || !fabric.contains(key)) missing.push_back(key);
  for (const auto& own : edit.values)
    if (!names(keys, own.first)) keys.push_back(own);
  std::vector<std::string> fitting;
  for (const auto& [key, value] : keys) fitting.push_back(key + "=" + value);
  const std::string text = "fabric " + edit.subject + ":" + joined(fitting, ",");
  Topology fitted = topology;
  Calibration unused;
  std::vector<std::string> notes;
  try {
    edit_fabric(parse_edit(text), fitted, unused, notes);
    static_cast<void>(build_fabric(fitted));
  } catch (const InputError&) {
    return "";
  }
  return (missing.size() > 1 ? "; missing: " + joined(missing) : "") + "; so many nodes fit: " + text;
}

}  // namespace

void check_network(const Edit& edit, const Topology& topology) {
  Topology wiring = topology;
  wiring.path = "edit '" + edit.text + "'";  // where a wrong value came from
  try {
    static_cast<void>(build_fabric(wiring));
  } catch (const InputError& error) {
    throw InputError(std::string(error.what()) + what_fits(edit, topology));
  }
}

}  // namespace linkcast
