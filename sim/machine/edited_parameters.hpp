#pragma once
#include "sim/machine/edit.hpp"
#include "sim/machine/topology.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast {

/// Edit "set PARAMETER=VALUE": a fitted parameter, or a figure of a NIC's engine. Taken as exact.
/// @throws InputError  there is no such parameter, or it cannot have this value
void set_parameter(const Edit& edit, Topology& topology, Calibration& calibration);

}  // namespace linkcast
