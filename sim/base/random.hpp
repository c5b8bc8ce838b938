#pragma once
// Random numbers that are a function of what they are for: the same on every machine, in any order, none stored.
#include <cstdint>

namespace linkcast {

/// SplitMix64. source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014
inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// Joins a further number to what a draw is for.
inline std::uint64_t joined(std::uint64_t hash, std::uint64_t next) { return mixed(hash ^ mixed(next)); }

/// Evenly in (0, 1): never 0, never 1.
inline double uniform(std::uint64_t hash) {
  constexpr double kHalf = 0.5, kStep = 0x1p-52;  // source: the middle of each step fills the 53 bits of a mantissa
  return (static_cast<double>(hash >> 12) + kHalf) * kStep;
}

/// Of the standard normal distribution. @source  Box and Muller, Annals of Mathematical Statistics 29 (1958)
double normal(std::uint64_t hash);

/// Probability that a standard normal number is below this.
double normal_below(double value);

/// The value that a standard normal number is below with this probability, in (0, 1); by bisection, to the last digit.
double normal_quantile(double probability);

}  // namespace linkcast
