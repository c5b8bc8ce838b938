#pragma once
// One device of an InfraGraph file with its slices resolved: nodes, and edges between single nodes.
#include <optional>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast::infragraph {

struct Component {
  std::string name, description;
  std::string type;  ///< cpu, xpu, nic, switch, memory, port, device, or what `custom` says
  int count = 0;
  std::string pointer;
};

struct Link {
  std::string name, description;
  std::optional<double> bytes_per_s;   ///< of the whole edge
  std::optional<double> transfers_GT;  ///< gigatransfers per second, where the file gives those
  std::string pointer;
};

/// A component with its index.
struct Node {
  int component = 0, index = 0;
  auto operator<=>(const Node&) const = default;
};

struct Edge {
  Node a, b;
  int link = 0;
  std::string pointer;
};

struct Device {
  std::string file, name, description;
  std::vector<Component> components;
  std::vector<Link> links;
  std::vector<Edge> edges;          ///< each pair of nodes once a link
  std::vector<std::string> others;  ///< further devices of the file
  bool network = false;             ///< the file has edges between instances, which are not read
};

/// @param name  which device; without one the only one that has an xpu
/// @throws InputError  with JSON pointer: what is missing or wrong, a slice that leaves its component, a component
///         that is a device of its own, a scheme other than one2one and many2many, several devices with an xpu
/// @source  openapi.yaml and infragraph_service.py of the Python package infragraph 3.1.0 (MIT)
Device read_device(const std::string& path, const std::optional<std::string>& name);

}  // namespace linkcast::infragraph
