#pragma once
// Sets of GPUs of one node, those that a symmetry of the machine turns into each other kept together.
#include <vector>

#include "sim/machine/symmetry.hpp"

namespace linkcast::placement {

/// GPU numbers, ascending.
using GpuSet = std::vector<int>;

/// Number of sets of `size` out of `gpus`; the largest int where that is more.
int number_of_sets(int gpus, int size);

/// All sets of `size` out of `free`, by class: two sets are of one class if a product of the symmetries makes one out
/// of the other. Classes in the order of their first member, members in lexicographic order.
/// @param free  ascending GPU numbers
/// @param symmetries  that move no GPU into or out of `free`
std::vector<std::vector<GpuSet>> set_classes(const GpuSet& free, int size,
                                             const std::vector<GpuPermutation>& symmetries);

}  // namespace linkcast::placement
