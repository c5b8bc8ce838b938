#pragma once
// Parts that every imported topology has.
#include <string>
#include <vector>

#include "calibrate/import/gpu_facts.hpp"
#include "sim/records/topology_writer.hpp"

namespace linkcast::topology_import {

struct CpuPart {
  std::string id, model, vendor;
  std::string link_kind;     ///< between sockets; empty: as socket_link() has it for the vendor
  BytesPerSecond link_rate;  ///< with link_kind
};

void add_gpus(TopologyWriter& writer, const std::vector<GpuFacts>& gpus);
/// CPUs, each joined with each: nothing that we read says how.
void add_cpus(TopologyWriter& writer, const std::vector<CpuPart>& cpus);
void join_cpus(TopologyWriter& writer, const std::vector<CpuPart>& cpus);

/// "8 x NVIDIA H200", "8 GPUs of compute capability 9.0", "4 GPUs".
std::string title_of(const std::vector<GpuFacts>& gpus);

}  // namespace linkcast::topology_import
