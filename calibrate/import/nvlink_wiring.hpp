#pragma once
// From "so many NVLinks between these two GPUs" to cables: straight from GPU to GPU, or through NVSwitches.
// nvidia-smi says the same of both: behind an NVSwitch every pair has all the links of a GPU.
#include <vector>

#include "calibrate/import/gpu_facts.hpp"
#include "calibrate/import/topo_matrix.hpp"
#include "sim/records/topology_writer.hpp"

namespace linkcast::topology_import {

/// links[a][b] NVLinks are shown between GPUs a and b; symmetric.
using LinkMatrix = std::vector<std::vector<int>>;

LinkMatrix nvlinks_of(const TopoMatrix& matrix);
bool has_links(const LinkMatrix& links);

struct WiringQuestion {
  std::string file;              ///< the matrix, for errors
  std::string source;            ///< the command that printed it
  std::optional<bool> nvswitch;  ///< option nvswitch
};

/// Adds NVSwitches and NVLink cables. Each set of GPUs that NVLinks join is looked at for itself: it hangs on an
/// NVSwitch if all its pairs have the same number of links and the GPUs have too few links for straight cables.
/// @throws InputError  if neither fits, or both do and the option does not say which; if two GPUs that are joined have
///                     NVLinks of different generations
void add_nvlinks(TopologyWriter& writer, const LinkMatrix& links, const std::vector<GpuFacts>& gpus,
                 const WiringQuestion& question);

}  // namespace linkcast::topology_import
