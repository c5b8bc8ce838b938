#pragma once
// NVLinks that hwloc shows as a matrix of bandwidths between OS devices.
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/nvlink_wiring.hpp"
#include "calibrate/import/xml_node.hpp"

namespace linkcast::topology_import {

struct HwlocNvlinks {
  XmlNode node;
  std::vector<std::vector<double>> MBps;  ///< between GPUs, in number order; behind NVSwitches the same for all pairs
  bool switched = false;                  ///< NVSwitches are among the devices

  /// Numbers of links, by the rate of one. @throws InputError  no multiple of it
  [[nodiscard]] LinkMatrix links(const std::vector<GpuFacts>& gpus) const;
};

/// @param gpus  gp_index of each GPU's OS devices. @returns nothing where the file has no NVLinkBandwidth with a link
std::optional<HwlocNvlinks> hwloc_nvlinks(const XmlNode& root, const std::vector<std::vector<std::string>>& gpus);

}  // namespace linkcast::topology_import
