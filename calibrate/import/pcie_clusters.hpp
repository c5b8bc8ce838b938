#pragma once
// The PCIe tree that `nvidia-smi topo -m` implies. PIX, PXB, PHB, NODE and SYS say how far up two devices meet, so the
// devices that meet at or below one of these levels are a cluster of it. Pairs with NVLink hide their PCIe path; it
// follows where a third device is near both.
#include <vector>

#include "calibrate/import/topo_matrix.hpp"

namespace linkcast::topology_import {

/// One row of the matrix in the tree. Clusters of a level are numbered by their first member.
struct PciePlace {
  int pix = 0;             ///< devices with the same number hang on one PCIe switch
  int pxb = 0;             ///< ... meet in PCIe switches
  int cpu = 0;             ///< NUMA node
  bool seen = false;       ///< some entry of this row shows a PCIe path
  std::string cpu_source;  ///< how the NUMA node is known
};

/// @throws InputError  with line: entries that no tree fulfils, also together with the NUMA affinities
std::vector<PciePlace> pcie_places(const TopoMatrix& matrix);

}  // namespace linkcast::topology_import
