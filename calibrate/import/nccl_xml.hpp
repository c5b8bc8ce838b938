#pragma once
#include <string>
#include <vector>

#include "calibrate/import/gpu_facts.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/topology_request.hpp"
#include "calibrate/import/xml_node.hpp"

namespace linkcast::topology_import {

// Parts of NCCL's topology files: what a CPU is, and what files that are written by hand or by clouds leave out.

/// A cpu element; one without arch is of no known maker.
CpuPart nccl_cpu_part(const XmlNode& node);

/// Adds in memory what NCCL finds on the machine and files for NCCL_TOPO_FILE therefore leave out: link_speed and
/// link_width, GPUs of option gpu below the PCI devices of GPUs, in the order of their bus ids, NVLinks of that model,
/// nic below adapters.
/// @returns what was assumed. @throws InputError  GPUs that nothing names, or some with and some without gpu; option
///          nvswitch where the file says or the model has it otherwise
std::vector<std::string> complete_nccl_file(const XmlFile& file, const TopologyRequest& request);

/// True of a PCI class of GPUs: display and processing accelerators (MI300X).
bool is_gpu_class(const std::string& pci_class);

/// What NCCL believes that was told this file: NVLinks that no GPU has count as well, those to unknown GPUs do not.
/// @returns  a record of schema topology/1
Json told_record(const ImportRequest& request, XmlFile file);

}  // namespace linkcast::topology_import
