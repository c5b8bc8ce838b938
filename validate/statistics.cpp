#include "validate/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace linkcast::validate {

double quantile(const std::vector<double>& sorted, double share) {
  const auto place = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(place, 1) - 1];
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace linkcast::validate
