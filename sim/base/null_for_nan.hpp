#pragma once
#include <string>

namespace linkcast {

/// Bare NaN, Infinity, nan and inf, with or without a sign, as null: JSON has no such numbers, and Python's json and
/// PyTorch's profiler write them.
std::string with_null_for_nan(const std::string& text);

}  // namespace linkcast
