#pragma once
// Compute capability, NVLink and PCIe of each GPU, from its name, the lists of nvidia-smi and --option. Nothing is
// guessed: what none of them says is an error that names the option which does.
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/nvidia_smi.hpp"
#include "calibrate/import/topology_request.hpp"
#include "sim/records/gpu_models.hpp"
#include "sim/records/topology_writer.hpp"

namespace linkcast::topology_import {
// NVLinks as nvidia-smi shows them. Names of GPUs: sim/records/gpu_model_names.hpp.

/// Generation of the NVLink that `nvidia-smi nvlink -s` shows with this rate, 0 if several have it or none.
int nvlink_generation_of(double shown_GBps);
/// Can `nvidia-smi nvlink -s` show this rate for links of this type?
bool shows_as(const NvlinkType& type, double shown_GBps);

struct GpuFacts {
  std::string model;
  int sm = 0;
  std::optional<NvlinkType> nvlink;  ///< links: that leave this GPU, if known, else 0
  bool nvswitch = true;              ///< could hang on an NVSwitch
  std::optional<int> active_links;   ///< if nvidia-smi nvlink -s lists them
  std::string nvlink_source;         ///< where generation and rate are known from
  std::optional<PcieLink> pcie;
  std::string pcie_source;
  std::string uuid, bus_id;  ///< empty: not known
};

/// Options that resolve_gpus() understands, besides those of the format.
inline const std::set<std::string> kGpuOptions = {"gpu", "sm", "nvlink", "pcie"};

struct GpuQuestion {
  std::string file;                 ///< of the structure, for errors
  std::vector<std::string> models;  ///< one a GPU; empty where the file does not say
  std::vector<bool> nvlinks;        ///< of which GPUs the file shows NVLinks; empty: of none
  bool amd = false;                 ///< the GPUs are of AMD
};

/// @param lists  of nvidia-smi, checked against each other
/// @throws InputError  contradictions; compute capability unknown; NVLink needed, but its generation unknown; option
/// gpu
///                     names a model of another maker
std::vector<GpuFacts> resolve_gpus(const TopologyRequest& request, GpuQuestion question,
                                   const std::vector<SmiList>& lists);

/// The commands that the lists come from, for the source of the record: "; nvidia-smi -L".
std::string sources_of(const std::vector<SmiList>& lists);

// Parts that every imported topology has.

struct CpuPart {
  std::string id, model, vendor;
  std::string link_kind;     ///< between sockets; empty: as socket_link() has it for the vendor
  BytesPerSecond link_rate;  ///< with link_kind
};

void add_gpus(TopologyWriter& writer, const std::vector<GpuFacts>& gpus);
/// CPUs, each joined with each: nothing that we read says how.
void add_cpus(TopologyWriter& writer, const std::vector<CpuPart>& cpus);
/// "intel" of "GenuineIntel", as CPUs say it themselves; empty of an unknown one.
std::string vendor_of_cpuid(const std::string& said);
void join_cpus(TopologyWriter& writer, const std::vector<CpuPart>& cpus);

/// "8 x NVIDIA H200", "8 GPUs of compute capability 9.0", "4 GPUs".
std::string title_of(const std::vector<GpuFacts>& gpus);

}  // namespace linkcast::topology_import
