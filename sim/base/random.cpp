#include "sim/base/random.hpp"

#include <cmath>
#include <numbers>

namespace linkcast {

double normal(std::uint64_t hash) {
  const double radius = std::sqrt(-2 * std::log(uniform(mixed(hash))));
  return radius * std::cos(2 * std::numbers::pi * uniform(mixed(hash + 1)));
}

double normal_below(double value) { return std::erfc(-value / std::numbers::sqrt2) / 2; }

double normal_quantile(double probability) {
  double low = -40, high = 40;  // beyond them a double has no probability left
  for (;;) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) return middle;
    (normal_below(middle) < probability ? low : high) = middle;
  }
}

}  // namespace linkcast
