#pragma once
// What the libraries that NCCL opens by name (NVML, the CUDA driver, a network plugin) ask the program that it runs in.

extern "C" {
int linkcast_gpus();
const char* linkcast_gpu_bus(int gpu);
int linkcast_gpu_sm(int gpu);
int linkcast_nics();
const char* linkcast_nic_path(int nic);
const char* linkcast_nic_name(int nic);
int linkcast_nic_speed_Mbps(int nic);
int linkcast_nic_direct(int nic);
int linkcast_driver_version();
void* linkcast_driver_function(const char* name);
}
