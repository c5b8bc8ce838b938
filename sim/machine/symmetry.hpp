#pragma once
// Which GPUs of a machine can change places without anybody being able to tell.
#include <vector>

#include "sim/machine/platform.hpp"

namespace linkcast {

/// A renumbering of GPUs: number k becomes [k].
using GpuPermutation = std::vector<int>;

/// Generators of all renumberings after which the machine is the same one: same devices, same cables, same rates.
/// At most gpus - 1 of them.
/// @param colours  per GPU: only GPUs of one colour may change places
/// @source  C. Sims, Computational methods in the study of permutation groups, 1970: a strong generating set, found
///          from the last base point to the first; each test is Boost.Graph's isomorphism
std::vector<GpuPermutation> gpu_symmetries(const Platform& platform, const std::vector<int>& colours);

}  // namespace linkcast
