#pragma once
// The GPUs and NICs that NCCL is made to believe in: those of a topology file.
#include <string>
#include <vector>

namespace linkcast::choices {

struct Gpu {
  std::string bus_id;  ///< as CUDA says it
  int sm = 0;          ///< compute capability x 10
};

struct Nic {
  std::string path;  ///< as sysfs says it; only the last part, the bus id, is looked at
  std::string name;
  int speed_Mbps = 0;
  bool direct = false;  ///< reads and writes memory of GPUs
};

struct Machine {
  std::vector<Gpu> gpus;  ///< by dev
  std::vector<Nic> nics;
};

/// @param path  what NCCL_TOPO_FILE names
/// @throws std::runtime_error  no XML, or no GPUs in it
Machine read_machine(const std::string& path);

/// The machine of this process; set before NCCL is called.
Machine& machine();

}  // namespace linkcast::choices
