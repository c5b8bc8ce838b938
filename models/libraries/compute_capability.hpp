#pragma once

namespace linkcast {

// Compute capability x 10. source: NVIDIA CUDA C++ Programming Guide, compute capabilities
inline constexpr int kPascal = 60, kVolta = 70, kAmpere = 80, kHopper = 90, kBlackwell = 100;

constexpr bool is_pascal(int sm) { return sm >= kPascal && sm < kVolta; }

}  // namespace linkcast
