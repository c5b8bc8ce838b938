#pragma once

namespace linkcast {

// Factors of units that other programs print in. source: SI
inline constexpr double kGiga = 1e9, kMicro = 1e-6;

}  // namespace linkcast
