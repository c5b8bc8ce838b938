#include "calibrate/fit/half_round_trips.hpp"

#include <cmath>
#include <vector>

namespace linkcast::fit {
namespace {

constexpr double kMiddle = 0.5;   // source: the definition of a median, and of the midpoint rule
constexpr int kMidpoints = 1000;  // ours: of the midpoint rule; twice as many move the fit by 1e-5
constexpr int kPairs = 200;       // ours: on either side of a plane, as above
constexpr double kExact = 1e-9;   // ours: of the interval that a root was looked for in

double midpoint(int i, int steps) { return (i + kMiddle) / steps; }

}  // namespace

/// Either both draws are above, or one is below and the other makes up for it: smooth in what the lower one is.
double half_sum_above(const OneWay& way, double half_sum) {
  const double lower = way.below(half_sum);
  double other = 0;
  for (int i = 0; i < kMidpoints; ++i)
    other += 1 - way.below(2 * half_sum - way.quantile(lower * midpoint(i, kMidpoints)));
  return (1 - lower) * (1 - lower) + 2 * lower * other / kMidpoints;
}

double largest_half_sum(const OneWay& way, int draws, double low, double high) {
  const double above = 1 - std::pow(kMiddle, 1.0 / draws);  // half of all sets of so many draws have none above
  return root_of([&](double half_sum) { return above - half_sum_above(way, half_sum); }, low, high);
}

double mean_inverse_half_sum(const OneWay& way) {
  std::vector<double> drawn;
  for (int i = 0; i < kPairs; ++i) drawn.push_back(way.quantile(midpoint(i, kPairs)));
  double sum = 0;
  for (const double there : drawn)
    for (const double back : drawn) sum += 2 / (there + back);
  return sum / kPairs / kPairs;
}

double root_of(const std::function<double(double)>& rising, double low, double high) {
  for (const double enough = kExact * (high - low); high - low > enough;) {
    const double middle = (low + high) / 2;
    (rising(middle) < 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace linkcast::fit
