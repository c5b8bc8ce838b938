#pragma once
#include <string>

#include "sim/machine/platform.hpp"

namespace linkcast::query {

/// Answer of the kind "show": what is wired to what as built, rates in use with their source.
/// Cables give `bandwidth_Bps` (nominal, one cable, one direction); links give the rate the simulation uses.
Json show_answer(const Platform& platform);

}  // namespace linkcast::query
