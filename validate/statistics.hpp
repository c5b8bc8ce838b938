#pragma once
#include <vector>

namespace linkcast::validate {

/// Smallest value that at least a share of the sorted values does not exceed.
double quantile(const std::vector<double>& sorted, double share);
/// Of an even number of values the mean of the two in the middle.
double median(std::vector<double> values);

}  // namespace linkcast::validate
