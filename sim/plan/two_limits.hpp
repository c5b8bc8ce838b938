#pragma once
// Two limits of the same bytes, links and thread blocks.
#include <algorithm>
#include <cmath>

namespace linkcast::activities {

/// Seconds where one limit alone would take a_s, the other b_s: near each other they hold back more than the larger
/// one, (a^p + b^p)^(1/p).
/// @source  ours, by measurement: broadcast, reduce and gather of 64 MiB to 4 GiB on two H200,
///          p = 4 is 4 % too slow, 8 too fast (docs/collectives.md)
inline double of_two_limits_s(double a_s, double b_s) {
  constexpr double kSharpness = 6;  // source: as above
  const double most = std::max(a_s, b_s), least = std::min(a_s, b_s);
  return most > 0 ? most * std::pow(1 + std::pow(least / most, kSharpness), 1 / kSharpness) : 0;
}

/// Thread blocks begin together and take their steps together; over the rounds they drift apart, until some are busy
/// while others wait. @returns  of what working in step costs, the part that is left after so many rounds
/// @source  ours, by measurement: rings of two to four H100 and H200, 64 MiB to 4 GiB (docs/collectives.md)
inline double share_in_step(double rounds) {
  constexpr double kDriftRounds = 12;  // source: as above
  return 1 / (1 + rounds / kDriftRounds);
}

}  // namespace linkcast::activities
