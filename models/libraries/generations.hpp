#pragma once
#include <array>
#include <vector>

#include "sim/machine/platform.hpp"

namespace linkcast {

// Compute capability x 10. source: NVIDIA CUDA C++ Programming Guide, compute capabilities
inline constexpr int kPascal = 60, kVolta = 70, kAmpere = 80, kHopper = 90, kBlackwell = 100;

/// NCCL's figures for a generation of GPUs, whatever the version of NCCL. Those that versions differ in:
/// graph/version.cpp.
struct NcclGeneration {
  int sm = 0;                                 ///< least compute capability x 10
  int nvls_blocks = 0;                        ///< thread blocks of multicast by NVSwitch in one node; 0: it has none
  int nvls_blocks_between = 0;                ///< the same of several nodes
  double multicast_GBps = 0, links_GBps = 0;  ///< NCCL's figures for multicast with 8 GPUs, and for a GPU's links
  double multicast_spread = 0;                ///< log sigma of their ratio
  double collnet_direct = 1;                  ///< share of CollNet's rate that NCCL expects of CollNet direct
};

// source: models/libraries/SOURCES.md, "Graph era: tuner" (multicast: 8 channels of 40 and 80 GB/s, of which it gets
// 0.85 and 0.74, on 18 links of 20.6 and 40.1 GB/s), "NVLS on one node", "CollNet and PAT". Spreads: assumed; 475 GB/s
// of bus that nccl-tests is said to show on 8 H100 is 2 % off, of later GPUs nothing is known
inline constexpr std::array kNcclGenerations = {
    NcclGeneration{0}, NcclGeneration{kHopper, 16, 16, 8 * 40 * 0.85, 18 * 20.6, 0.15, 0.85},
    NcclGeneration{kBlackwell, 24, 32, 8 * 80 * 0.74, 18 * 40.1, 0.25, 0.85}};

/// @param sm  compute capability x 10
constexpr const NcclGeneration& nccl_generation(int sm) {
  const NcclGeneration* found = kNcclGenerations.data();
  for (const NcclGeneration& one : kNcclGenerations)
    if (sm >= one.sm) found = &one;
  return *found;
}

constexpr bool is_pascal(int sm) { return sm >= kPascal && sm < kVolta; }

/// @throws InputError  fewer than 2 GPUs, one that does not exist, one given twice
void check_members(const Platform& platform, const std::vector<int>& gpus);

/// Least compute capability x 10 of the members.
int oldest_generation(const Platform& platform, const std::vector<int>& gpus);

}  // namespace linkcast
