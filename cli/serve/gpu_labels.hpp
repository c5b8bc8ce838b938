#pragma once
// Labels that GPU feature discovery puts on Kubernetes' nodes, and the platform that they are of.
// source: NVIDIA GPU feature discovery, README: nvidia.com/gpu.product (blanks as dashes, "-SHARED" where time slices
// are given away, "-MIG-..." of parts of a GPU), nvidia.com/gpu.count
#include <string>
#include <vector>

#include "sim/machine/catalogue.hpp"

namespace linkcast::serve {

struct GpuLabels {
  std::string product;
  int count = 0;
};

/// @param served  ids; @param wanted  of several that the labels fit the one to take, if it is among them; may be empty
/// @returns  the one platform with so many such GPUs: those of the very name come before others of the same model
/// @throws InputError  none, or several; the text is for whoever waits for the pod
std::string platform_of_labels(catalogue::Catalogue& catalogue, const std::vector<std::string>& served,
                               const GpuLabels& labels, const std::string& wanted);

}  // namespace linkcast::serve
