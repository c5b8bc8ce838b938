#pragma once
// One device of an InfraGraph file with its slices resolved: nodes, and edges between single nodes.
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/topology_request.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/quantity.hpp"

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
  std::vector<std::string> notes;   ///< what is assumed about its parts
  bool network = false;             ///< the file has edges between instances, which are not read
};

/// @param name  which device; without one the only one that has an xpu and is no part of another
/// Devices that it is composed of come with their components ("tray_xpu"), adapters, switches and plugs as one each.
/// @throws InputError  with JSON pointer: what is missing or wrong, a slice that leaves its component, a scheme other
///         than one2one and many2many, several devices with an xpu, a device composed of itself
/// @source  openapi.yaml and infragraph_service.py of the Python package infragraph 3.1.0 (MIT)
Device read_device(const std::string& path, const std::optional<std::string>& name);

// Links of an InfraGraph file as cables: kind, number, rate. The format has names and rates, no kinds.

/// Components at both ends of an edge.
struct Ends {
  bool cpus = false;      ///< two CPUs
  bool a_cpu = false;     ///< a CPU at one end
  bool a_gpu = false;     ///< a GPU at one end
  int sm = 0;             ///< of the GPU at one of them, else of the machine's first
  std::string gpu;        ///< its model
  int gpu_links = 0;      ///< NVLinks that leave that model, 0 if not known
  double chip_Bps = 0;    ///< its NVLink-C2C, 0 if it has none or is not known
  int gpu_edges = 0;      ///< edges of that GPU on which NVLinks can be
  int gpu_edge = 0;       ///< which of them this is
  bool switched = false;  ///< all of them lead to switches
  double trunk = 0;       ///< between switches: NVLinks of GPUs on one, for each of its edges to others
  int pcie = 0;           ///< PCIe generation of that GPU's model, 0 if not known
  std::string vendor;     ///< of the CPU
};

struct CableFacts {
  std::string kind;
  int count = 1;
  BytesPerSecond rate;  ///< one cable, one direction
  std::string note;     ///< what is assumed, else empty
};

/// @throws InputError  with JSON pointer: neither name nor options nor the ends say which kind of link it is
CableFacts cable_of(const Device& device, const Link& link, const Ends& ends,
                    const topology_import::TopologyRequest& request);

/// Contains one of the words of an NVLink or another cable of accelerators.
bool is_accelerator_link(const Link& link);

}  // namespace linkcast::infragraph
