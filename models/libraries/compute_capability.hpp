#pragma once

namespace linkcast {

// Compute capability x 10. source: NVIDIA CUDA C++ Programming Guide, compute capabilities
inline constexpr int kVolta = 70, kAmpere = 80, kHopper = 90;

}  // namespace linkcast
