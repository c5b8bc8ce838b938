#pragma once
// What a record says about the machine. No host name, no serial number; UUIDs only as a hash.
#include <nlohmann/json.hpp>
#include <string>

#include "calibrate/bench/nvml.hpp"

namespace linkcast::bench {

using Json = nlohmann::ordered_json;

/// Bus id of CUDA device `gpu`, as normal_pci spells it.
std::string pci_of(int gpu);
std::string cpu_model();
/// NUMA node of a PCI device; -1 where the system does not say (virtual machines often do not).
int numa_node_of(const std::string& pci);

/// GPUs, driver, libraries, CPU, date and clocks before the run.
Json describe_environment(int gpus, const Nvml& nvml);
/// Clocks and temperature of every GPU now.
Json describe_clocks(int gpus, const Nvml& nvml);

}  // namespace linkcast::bench
