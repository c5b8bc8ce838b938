#pragma once
#include <string>

#include "sim/machine/topology.hpp"

namespace linkcast::exporters::nccl {

/// A topology as NCCL_TOPO_DUMP_FILE writes it and NCCL_TOPO_FILE reads it. Bus ids are made up: CPU n has PCI domain
/// n, whose buses count in the order of the tree. Left out, since the format cannot say it: cables between CPUs and
/// between NVSwitches. What a topology does not say (PCIe of GPUs that have none) is left to NCCL's own defaults.
/// @source  NVIDIA/nccl src/graph/xml.cc and topo.cc
/// @throws InputError  for what the format has no word for: Infinity Fabric, PCIe that is no tree
std::string topology_xml(const Topology& topology);

}  // namespace linkcast::exporters::nccl
