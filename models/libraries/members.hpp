#pragma once
#include <vector>

#include "sim/machine/platform.hpp"

namespace linkcast {

/// @throws InputError  fewer than 2 GPUs, one that does not exist, one given twice
void check_members(const Platform& platform, const std::vector<int>& gpus);

/// Least compute capability x 10 of the members.
int oldest_generation(const Platform& platform, const std::vector<int>& gpus);

}  // namespace linkcast
