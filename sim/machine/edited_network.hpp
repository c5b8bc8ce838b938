#pragma once
// Edits of the network between nodes: which one (sim/records/networks.hpp), how many adapters of a node are in
// it, how much less its upper cables carry.
#include <string>
#include <vector>

#include "sim/machine/edit.hpp"
#include "sim/machine/topology.hpp"
#include "sim/records/calibration.hpp"
#include "sim/records/networks.hpp"

namespace linkcast {

/// "400 Gb/s a port, ..." in one line.
std::string summary_of(const Network& network);

/// Edit "network NAME:nodes=N,bandwidth=RATE": every cable of the fabric is of that network, and what the old one was
/// measured to cost is forgotten. With nodes, or where there is no fabric, one is built for so many nodes.
/// @throws InputError  no such network, or several, another key, the node has no adapter
void edit_network(const Edit& edit, Topology& topology, Calibration& calibration, std::vector<std::string>& notes);

/// Edit "nics N": the fabric joins N of the adapters that it joined, spread evenly. @throws InputError  as many are not
/// there
void edit_nics(const Edit& edit, Topology& topology);

/// Edit "oversubscription F": cables up from a leaf carry 1 / F of what those down carry. @throws InputError  the
/// fabric has no leaves
void edit_oversubscription(const Edit& edit, Topology& topology);

/// Builds the edited fabric. @throws InputError  it cannot be built: with every key that is missing, and what would fit
/// @param edit  the first that changes the network
void check_network(const Edit& edit, const Topology& topology);

}  // namespace linkcast
