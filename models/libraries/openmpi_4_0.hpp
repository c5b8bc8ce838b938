#pragma once
// Open MPI 2 to 4.0: algorithm by operation, ranks and bytes, before its tables of 4.1.
#include <optional>
#include <string>

#include "sim/machine/library.hpp"

namespace linkcast {

/// @returns nullopt for operations whose old rules are not modelled: those of 4.1 stand in
std::optional<std::string> openmpi_4_0(const ScheduleRequest& request);

}  // namespace linkcast
