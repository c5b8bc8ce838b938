#pragma once
// Rings of one node as parts of rings over several.
#include <map>
#include <vector>

#include "sim/machine/cluster.hpp"
#include "sim/machine/communicator.hpp"

namespace linkcast {

/// @throws InputError  no GPU, more nodes than the fabric has room for
void check_nodes(const Cluster& cluster, const std::vector<int>& gpus, int nodes);

/// The first member next to each NIC in use, in the order of the NICs.
std::map<int, int> nic_heads(const Cluster& cluster, const std::vector<int>& gpus);

struct HeadedRings {
  int of_each = 1;        ///< rings for each NIC
  bool by_entry = false;  ///< the last GPU hands its data to the first one, whose NIC sends them, where peers can
};
/// Rings for each NIC: the first one not used yet whose second GPU, where the second child of a tree arrives, is next
/// to a NIC that no other has there; so that trees load all NICs alike. Else it leaves by the NIC
/// next to its last GPU.
/// @param entries  see nic_heads()
std::vector<Channel> headed_rings(const Cluster& cluster, const std::vector<Channel>& found,
                                  const std::map<int, int>& entries, const HeadedRings& how = {});

/// By a NIC, through host memory where NICs do not access that of GPUs.
NicWay nic_way(const Cluster& cluster, int nic);

/// Bytes/s that the library counts on for the cable of a NIC.
BytesPerSecond nic_bandwidth(const Cluster& cluster, int nic);

}  // namespace linkcast
