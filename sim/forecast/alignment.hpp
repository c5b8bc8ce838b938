#pragma once
// What is left of a thread block's rate where the parts of a buffer do not begin at 16 bytes.
#include <string>

#include "sim/forecast/collective_cost.hpp"
#include "sim/forecast/collective_job.hpp"

namespace linkcast::collective {

inline constexpr double kElement_B = 4;  // source: NVIDIA/nccl-tests README, -d: float unless said otherwise

/// Bytes that a thread moves at once where parts begin at multiples of `distance_B`: 16, or the largest power of two
/// that divides the distance, at least 4; 16 of no distance. A distance that is no whole number of elements of 4 bytes
/// is rounded down to them, as nccl-tests does.
int access_width_B(double distance_B);

/// Distance of the parts that a job's buffer is split into, `exact_B` as its size says. A size that is no whole number
/// of bytes a part is rounded by whoever calls: to 16 bytes a part by benchmarks of today, and frameworks pad; to
/// elements where libraries kept step.
/// @source  NVIDIA/nccl-tests, src/all_gather.cu, AllGatherGetCollByteCount: December 2024 and before
double part_distance_B(const CollectiveJob& job, double exact_B);

/// access_width_B() of part number `part` alone.
int part_width_B(int part, double distance_B);

/// Share of a block's rate that is left where threads move `width_B` bytes at once, fewer than 16.
Learned narrow_rate(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                    int width_B);

/// Takes from the blocks' rate what narrow accesses cost them. LL is unhurt, its unit is 8 bytes.
/// @param distance_B  between the parts; 0: the library places its pieces as it likes
/// @returns  whether they are narrow
bool narrow_blocks(const Platform& platform, const RingLibrary& library, const Communicator& communicator,
                   const std::string& protocol, double distance_B, CollectiveCost& cost);

}  // namespace linkcast::collective
