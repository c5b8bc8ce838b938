#include "calibrate/import/peer_access.hpp"

#include <algorithm>

namespace linkcast::topology_import {

std::optional<PeerAccess> peer_access_of(const std::vector<PeerPair>& pairs, const std::string& tool) {
  int count[2] = {0, 0}, able[2] = {0, 0};  // of different sockets, of the same
  for (const PeerPair& pair : pairs) {
    ++count[pair.same_socket ? 1 : 0];
    if (pair.access) ++able[pair.same_socket ? 1 : 0];
  }
  if (pairs.empty()) return std::nullopt;
  const auto all = [&](int near) { return able[near] == count[near]; };
  const std::string shown = "pcie_peer: " + tool + " shows ";
  if (able[0] + able[1] == 0) return PeerAccess{"none", shown + "no peer access over PCIe"};
  if (all(0) && all(1) && count[0] > 0) return PeerAccess{"all", shown + "peer access of all pairs"};
  if (all(1) && able[0] == 0) return PeerAccess{"same_socket", shown + "peer access inside a socket"};
  if (all(1) && count[1] > 0)
    return PeerAccess{"same_socket", shown +
                                         "peer access inside a socket; assumed: none across sockets, where only some "
                                         "pairs have it"};
  return PeerAccess{"none", "assumed: no peer access over PCIe, " + tool + " shows it for some pairs of a socket only"};
}

}  // namespace linkcast::topology_import
