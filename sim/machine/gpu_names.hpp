#pragma once
// Names of GPUs, the same wherever one is asked for: 0, gpu0, 0-3, gpu0-gpu3, a UUID (or its unique beginning) and a
// PCI bus id, each in any case. UUIDs and bus ids are those of the topology file.
#include <optional>
#include <string>
#include <vector>

#include "sim/machine/topology.hpp"

namespace linkcast {

/// "write 0, gpu0, ...": what a name of GPUs may be.
extern const std::string kGpuForms;

/// One name or range, as far as its text tells.
struct GpuText {
  int first = -1, last = -1;  ///< numbers; -1: a driver's name
  std::string driver{};       ///< UUID in lower case, or bus id as pci_bus_id() writes it
};
/// @returns nothing for a text of no such form
std::optional<GpuText> read_gpu_text(const std::string& text);

/// Number of the GPU with a driver's name. @returns nothing where no GPU, or more than one, has it
std::optional<int> find_driver_name(const Topology& topology, const std::string& name);
/// The one error of all that take names of GPUs, less where it stands.
std::string no_gpu(const Topology& topology, const std::string& name);

/// "gpu3" of "3", "GPU3", a UUID or a bus id, and "node1/gpu3" of "node1/3"; a text that names no GPU stays. Numbers
/// are not compared with how many there are. @throws InputError  a UUID or bus id that the machine does not have
std::string gpu_device(const Topology& topology, const std::string& name);
/// Numbers of "0-3,gpu5,0000:1b:00.0", which may be more than there are. @throws InputError  what of it names no GPU
std::vector<int> gpu_list(const Topology& topology, const std::string& text);
/// An edit with its GPUs as gpu<number>. @throws InputError
std::string edit_with_gpus(const Topology& topology, const std::string& text);

}  // namespace linkcast
