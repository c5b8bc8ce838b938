#pragma once
// Order statistics, as fits and comparisons show them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace linkcast {

/// Standard deviations on either side of the middle 90 % of a normal distribution.
/// @source  NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.1 (cumulative 0.95 at 1.645)
inline constexpr double kNinetyPercentSigmas = 1.645;  // source: the same

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

/// Place, among `count` values in their order, of the smallest one that at least a share of them does not exceed: of a
/// few the last. @param count  at least one
/// @source  definition 1 of the same
inline std::size_t nearest_rank_place(std::size_t count, double share) {
  constexpr double kRounding = 1e-9;  // source: ours, above what a share such as 0.07 is off by
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(count) - kRounding));
  return std::clamp<std::size_t>(rank, 1, count) - 1;
}

/// The value there, always one of them.
inline double nearest_rank(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[nearest_rank_place(values.size(), share)];
}

inline double median(std::vector<double> values) {
  constexpr double half = 0.5;  // source: what a median is
  return quantile(std::move(values), half);
}

}  // namespace linkcast
