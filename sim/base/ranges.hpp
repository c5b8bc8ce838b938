#pragma once
// Ranges of the numbers that readers take, by unit: every reader of files, options and edits asks here. Beyond them
// nothing is a machine or a run of one; within them sums, products and ratios stay finite.
#include <cmath>
#include <string>
#include <string_view>

#include "sim/base/quantity.hpp"

namespace linkcast {

// source: ours. The slowest serial line has 10 B/s, and no link of ten years from now 10 PB/s; 1e10 s are 300 years,
// so that seconds since 1970 are times; a thousandfold of anything is a typing error
inline constexpr double kSlowest_Bps = 1, kFastest_Bps = 1e16, kLongest_s = 1e10, kLargestNumber = 1e9;
inline constexpr double kLargestFactor = 1000;
inline constexpr double kLargestSpread = 100;        // source: ours, of a logarithm: e^100 is beyond every machine
inline constexpr double kLargestRetryShare = 0.999;  // source: ours, a link that repeats all a thousand times is broken

/// A fault of a number in a unit; empty: nothing. 0 is left to who asks.
/// @param unit  s, B, B/s or 1
inline std::string range_refusal(std::string_view unit, double value) {
  if (!std::isfinite(value)) return "must be a finite number";
  if (unit == "s" && value > kLongest_s) return "must be at most 1e10 s";
  if (unit == "B" && value > kLargest_B) return "must be at most 2^53 B";
  if (unit == "B/s" && value > kFastest_Bps) return "must be at most 1e16 B/s";
  if (unit == "B/s" && value != 0 && value < kSlowest_Bps) return "must be at least 1 B/s";
  if (unit == "1" && std::abs(value) > kLargestNumber) return "must be at most 1e9";
  return "";
}

}  // namespace linkcast
