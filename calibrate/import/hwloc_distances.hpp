#pragma once
// Links between GPUs that hwloc shows as matrices of bandwidths between OS devices: NVLinkBandwidth, XGMIBandwidth.
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/gpu_facts.hpp"
#include "calibrate/import/nvlink_wiring.hpp"
#include "calibrate/import/xml_node.hpp"

namespace linkcast::topology_import {

struct HwlocLinks {
  XmlNode node;
  std::vector<std::vector<double>> MBps;  ///< between GPUs, in number order; behind NVSwitches the same for all pairs
  bool switched = false;                  ///< NVSwitches are among the devices

  /// Numbers of NVLinks, by the rate of one. @throws InputError  no multiple of it
  [[nodiscard]] LinkMatrix links(const std::vector<GpuFacts>& gpus) const;
  /// Adds the cables of AMD's GPUs: as many links as the rate of one goes into that of the pair, else one of this rate.
  /// @throws InputError  the two directions of a pair differ
  void add_xgmi(TopologyWriter& writer, const std::vector<GpuFacts>& gpus) const;
};

/// @param gpus  gp_index of each GPU's OS devices. @param amd  XGMI in place of NVLinks; pairs of more than one hop
/// have none. @returns nothing where the file has no such matrix with a link
std::optional<HwlocLinks> hwloc_links(const XmlNode& root, const std::vector<std::vector<std::string>>& gpus, bool amd);

}  // namespace linkcast::topology_import
