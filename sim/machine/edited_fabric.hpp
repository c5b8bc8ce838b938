#pragma once
#include <string>
#include <vector>

#include "sim/machine/edit.hpp"
#include "sim/machine/topology.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast {

/// Replaces the fabric object. Keys that are not given stay where the generator stays; links stay where they are named
/// alike. What messages between nodes attain goes with the nominal rate of a node's port.
/// @throws InputError  a key that leads nowhere
void edit_fabric(const Edit& edit, Topology& topology, Calibration& calibration, std::vector<std::string>& notes);
/// Edit "scale KIND:FACTOR" on links between nodes; what messages attain goes with the rate of a node's port.
/// @returns false if no link is of the kind
bool scale_fabric(const Edit& edit, Topology& topology, Calibration& calibration);
/// "fabric GENERATOR:links.CLASS.bandwidth=RATE" for a kind of links between nodes; "" if the fabric has none of it.
std::string fabric_edit_for(const std::string& kind, const Topology& topology);

}  // namespace linkcast
