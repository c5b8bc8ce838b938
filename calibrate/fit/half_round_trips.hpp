#pragma once
// What a ping-pong shows of a distribution: half of the sum of two draws, one for either direction. Its extremes are
// rarer than those of one way: both draws would have to be extreme at once.
#include <functional>

namespace linkcast::fit {

/// One direction.
struct OneWay {
  std::function<double(double)> quantile;  ///< of a probability in (0, 1)
  std::function<double(double)> below;     ///< probability to be no more than this
};

/// Probability that half of the sum of two draws is above this.
double half_sum_above(const OneWay& way, double half_sum);

/// Median of the largest of so many half sums. @param low, high  between which it lies
double largest_half_sum(const OneWay& way, int draws, double low, double high);

/// Mean of the inverse of half the sum of two draws: of times a byte, the mean goodput.
double mean_inverse_half_sum(const OneWay& way);

/// Where a rising function crosses zero, halving an interval that has it inside.
double root_of(const std::function<double(double)>& rising, double low, double high);

}  // namespace linkcast::fit
