#pragma once
// Which GPUs have peer access over PCIe, from what tools print of each pair.
#include <optional>
#include <string>
#include <vector>

namespace linkcast::topology_import {

struct PeerPair {
  bool same_socket = false, access = false;
};

struct PeerAccess {
  std::string value;   ///< pcie_peer of a topology
  std::string source;  ///< for that of the record
};

/// @param pairs  that no NVLink or XGMI joins. @param tool  that printed it
/// @returns nothing without a pair
std::optional<PeerAccess> peer_access_of(const std::vector<PeerPair>& pairs, const std::string& tool);

}  // namespace linkcast::topology_import
