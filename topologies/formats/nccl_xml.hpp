#pragma once
// XML as NCCL's own reader takes it: that reader resolves no entities, knows no <?xml?> line and takes the blank before
// "/>", which XML libraries write, for one more attribute.
#include <string>
#include <utility>
#include <vector>

#include "sim/machine/communicator.hpp"
#include "sim/machine/topology.hpp"

namespace linkcast::exporters::nccl {

struct Element {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<Element> children;
};

/// Two blanks a level, one element a line. @throws InputError  for a value that NCCL's reader would not give back
std::string to_text(const Element& root);

/// A topology as NCCL_TOPO_DUMP_FILE writes it and NCCL_TOPO_FILE reads it. Bus ids are made up: CPU n has PCI domain
/// n, whose buses count in the order of the tree. Left out, since the format cannot say it: cables between CPUs and
/// between NVSwitches. What a topology does not say (PCIe of GPUs that have none) is left to NCCL's own defaults.
/// @source  NVIDIA/nccl src/graph/xml.cc and topo.cc
/// @throws InputError  for what the format has no word for: Infinity Fabric, PCIe that is no tree
std::string topology_xml(const Topology& topology);

/// Rings and trees of a communicator as NCCL_GRAPH_DUMP_FILE writes them and NCCL_GRAPH_FILE reads them: graph 0 the
/// rings, graph 1 the trees. NCCL searches graphs that are not in the file (CollNet, NVLS) itself.
/// @source  NVIDIA/nccl src/graph/search.cc, ncclTopoGetXmlFromGraphs and ncclTopoGetGraphFromXml
/// @throws InputError  for a library of the era before graphs
std::string graph_xml(const Communicator& communicator);

}  // namespace linkcast::exporters::nccl
