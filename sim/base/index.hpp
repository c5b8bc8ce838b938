#pragma once
#include <concepts>
#include <cstddef>
#include <limits>

namespace linkcast {

/// A place that is counted with sign, as the containers of the standard library take it.
template <std::integral Integer>
constexpr std::size_t at(Integer place) {
  return static_cast<std::size_t>(place);
}

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace linkcast
