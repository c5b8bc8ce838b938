#pragma once
// Order statistics, as fits and comparisons show them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace linkcast {

/// Value below which a share of the values lies, linearly interpolated between the two nearest; 0 of no values.
/// @param share  0 to 1
/// @source  definition 7 of R. Hyndman and Y. Fan, The American Statistician 50(4), 1996: R's and NumPy's default
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
}

/// Smallest value that at least a share of the values does not exceed: always one of them, of a few the largest.
/// @param values  at least one
/// @source  definition 1 of the same
inline double nearest_rank(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

inline double median(std::vector<double> values) {
  constexpr double half = 0.5;  // source: what a median is
  return quantile(std::move(values), half);
}

}  // namespace linkcast
