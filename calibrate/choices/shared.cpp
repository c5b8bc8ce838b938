#include "calibrate/choices/shared.hpp"

#include "calibrate/choices/machine.hpp"

using linkcast::choices::machine;

int linkcast_gpus() { return static_cast<int>(machine().gpus.size()); }
const char* linkcast_gpu_bus(int gpu) { return machine().gpus.at(static_cast<std::size_t>(gpu)).bus_id.c_str(); }
int linkcast_gpu_sm(int gpu) { return machine().gpus.at(static_cast<std::size_t>(gpu)).sm; }
int linkcast_nics() { return static_cast<int>(machine().nics.size()); }
const char* linkcast_nic_path(int nic) { return machine().nics.at(static_cast<std::size_t>(nic)).path.c_str(); }
const char* linkcast_nic_name(int nic) { return machine().nics.at(static_cast<std::size_t>(nic)).name.c_str(); }
int linkcast_nic_speed_Mbps(int nic) { return machine().nics.at(static_cast<std::size_t>(nic)).speed_Mbps; }
int linkcast_nic_direct(int nic) { return machine().nics.at(static_cast<std::size_t>(nic)).direct ? 1 : 0; }
