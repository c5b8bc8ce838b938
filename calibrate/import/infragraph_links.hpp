#pragma once
// Links of an InfraGraph file as cables: kind, number, rate. The format has names and rates, no kinds.
#include <string>

#include "calibrate/import/infragraph_graph.hpp"
#include "calibrate/import/topology_request.hpp"
#include "sim/base/quantity.hpp"

namespace linkcast::infragraph {

/// Components at both ends of an edge.
struct Ends {
  bool cpus = false;   ///< two CPUs
  bool a_cpu = false;  ///< a CPU at one end
  int sm = 0;          ///< of the GPU at one of them, 0 if there is none
  int gpu_links = 0;   ///< NVLinks that leave that GPU's model, 0 if not known
  int gpu_edges = 0;   ///< of that GPU on which they can be
  int pcie = 0;        ///< PCIe generation of that GPU's model, 0 if not known
  std::string vendor;  ///< of the CPU
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
