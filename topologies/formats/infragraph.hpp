#pragma once
#include <string>

#include "sim/machine/topology.hpp"

namespace linkcast::exporters {

/// A topology as JSON of InfraGraph 3 (schema Infrastructure): one device with a component for each run of equal
/// devices ("gpu", "nvs6-11"), one instance of it. An edge stands for a whole bundle: its link is called "2 x nvlink2"
/// and has the bandwidth of both, one direction. Left out, since the format has no word for it: which GPUs may access
/// each other over PCIe, sources of single cables, the rule of the network between nodes.
/// @source  openapi.yaml of the Python package infragraph 3.1.0 (MIT)
std::string infragraph_json(const Topology& topology);

}  // namespace linkcast::exporters
