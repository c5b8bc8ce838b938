#pragma once
// How two devices are wired, as text that is the same for pairs wired alike.
#include <string>

#include "sim/machine/platform.hpp"

namespace linkcast::fit {

/// What a copy of this transport crosses: "nvlink2 x2", "nvlink4 x18 via nvswitch", "same socket", ...
/// @param transport  as in FitContext's samples; source and target are device indices
std::string wiring_of(const Platform& wires, const std::string& transport, int source, int target);

}  // namespace linkcast::fit
