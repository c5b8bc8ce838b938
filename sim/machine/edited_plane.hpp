#pragma once
#include <vector>

#include "sim/machine/edit.hpp"
#include "sim/machine/topology.hpp"

namespace linkcast {

/// Links are named by planes of switches ("gpu0->baseboard0"), cables by their switches: an edit that names a plane, as
/// those of its switches; any other as it is. Links that are removed are taken from one switch after the other.
/// @throws InputError  as many links are not there
std::vector<Edit> edits_of_plane(const Edit& edit, const Topology& wiring);

}  // namespace linkcast
