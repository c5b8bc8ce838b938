#pragma once
// Counted places, and lists of whole numbers.
#include <concepts>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace linkcast {

/// A place that is counted with sign, as the containers of the standard library take it.
template <std::integral Integer>
constexpr std::size_t at(Integer place) {
  return static_cast<std::size_t>(place);
}

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// 0, 1, ..., count - 1
inline std::vector<int> first_numbers(int count) {
  std::vector<int> numbers(at(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace linkcast
