#pragma once
// Printed decimal numbers, kept at full printed precision.
#include <cstdint>
#include <optional>
#include <string_view>

namespace linkcast {

/// The number that a printed decimal stands for, times 10^exponent, rounded once: "18.41", 9 is 18410000000 exactly.
/// @returns nothing if the text is no finite decimal number
std::optional<double> decimal(std::string_view text, int exponent = 0);

/// A whole number of at least 0, in digits only. @returns nothing if the text is none, or above 2^31 - 1
std::optional<int> whole_number(std::string_view text);
/// The same up to 2^53, the largest size that schema measurement/1 takes.
std::optional<std::int64_t> whole_size(std::string_view text);

}  // namespace linkcast
