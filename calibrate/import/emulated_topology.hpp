#pragma once
// Topology files that make NCCL believe in links that a machine does not have.
#include <string>
#include <vector>

namespace linkcast {

/// Links that some GPUs shall seem to have, by their number.
struct WishedLinks {
  std::vector<std::vector<int>> between{};  ///< NVLinks from each GPU to each; symmetric
  std::vector<int> to_switch{};             ///< NVLinks of each GPU to NVSwitches
  std::vector<int> socket{};                ///< CPU above each, counted from 0
};

/// The NCCL topology file of a real machine with its first GPUs joined as wished. Their PCIe stays as it is; GPUs
/// wished on different sockets hang below different CPUs, without the switches that they share.
/// @param onto  NCCL_TOPO_DUMP_FILE of the real machine: bus ids must be those of its GPUs
/// @returns  text for NCCL_TOPO_FILE. Each GPU has an nvlink element, if only to a bus id that no GPU has: NCCL looks
///           for NVLinks itself where there is none.
/// @throws InputError  a file that is no topology of NCCL, or has fewer GPUs
std::string emulated_topology(const std::string& onto, const WishedLinks& wish);

/// GPUs of such a file, dev 0 upwards. @throws InputError
std::vector<std::string> bus_ids_of_topology_file(const std::string& path);

}  // namespace linkcast
