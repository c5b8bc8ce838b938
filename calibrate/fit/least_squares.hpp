#pragma once
// Robust linear least squares on relative residuals.
#include <string>
#include <vector>

#include "sim/base/statistics.hpp"

namespace linkcast::fit {

/// One observation: time = sum_k coefficient_k x row[k].
struct Observation {
  std::vector<double> row;
  double time_s = 0;
};

struct LinearFit {
  std::vector<double> value;    ///< coefficients
  std::vector<double> stderr_;  ///< standard errors from the covariance at the solution
  double sigma = 0;             ///< robust standard deviation of the relative residuals
  double loss = 0;              ///< sum of squared relative residuals
  int samples = 0;
};

/// Minimises Huber's loss of (modelled - measured) / measured by iterated reweighting.
/// @param names  one per column, for the error message
/// @throws InputError  fewer observations than columns, or columns that the data cannot tell apart (names them)
/// @source Huber, Robust Statistics, 1981, section 7.8; tuning constant 1.345 (95 % efficiency at the normal)
LinearFit robust_fit(const std::vector<Observation>& observations, const std::vector<std::string>& names);

/// Robust standard deviation: 1.4826 x median absolute deviation from `centre`.
double robust_sigma(std::vector<double> values, double centre);
/// Standard deviation within 1.645 of which 90 % of the values lie, whatever the shape of the tails.
/// @param sizes  absolute values of the residuals
double sigma_of_ninety_percent(const std::vector<double>& sizes);
struct MedianEstimate {
  double value = 0, stderr_ = 0;
};
/// Median with its standard error. @source asymptotic: sqrt(pi/2) sigma / sqrt(n), sigma taken robustly
MedianEstimate estimate_median(const std::vector<double>& values);

}  // namespace linkcast::fit
