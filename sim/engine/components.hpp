#pragma once
#include <cstddef>

#include "sim/engine/problem.hpp"

namespace linkcast {

/// Number of activities of the largest set that hangs together by constraints.
std::size_t largest_component(const Problem& problem);

}  // namespace linkcast
