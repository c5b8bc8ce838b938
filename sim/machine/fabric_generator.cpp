#include "sim/machine/fabric_generator.hpp"

#include <set>

#include "sim/machine/fabric_routing.hpp"

namespace linkcast {
namespace {

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
  if (const auto sharp = parameters.optional<std::string>("sharp"); sharp && sharp->empty())
    parameters.fail("sharp", "must say where it is known from that the switches reduce");
  built.nics = connected_nics(topology, parameters);
  const FabricGenerator& generator = fabric_generators().get(built.generator);
  built.fabric = generator.build(parameters, static_cast<int>(built.nics.size()));
  return built;
}

std::unique_ptr<Fabric> make_fabric(const Topology& topology) { return build_fabric(topology).fabric; }

}  // namespace linkcast
