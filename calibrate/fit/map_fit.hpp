#pragma once
// Parameters of a model that has no closed form, from data and from what was believed before: maximum a posteriori.
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/progress.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast::fit {

/// One parameter. Its logarithm is normal around that of prior.value before the data are seen.
struct Unknown {
  std::string name;
  Prior prior;
  bool heavy_tails = false;  ///< the logarithm has Student's tails instead: data may take it far away
};

struct MapRequest {
  std::vector<Unknown> unknowns;
  std::size_t points = 0;
  /// ln(modelled / measured) of one point. @param values  one for each unknown
  std::function<double(std::size_t point, const std::vector<double>& values)> log_error;
  std::vector<std::vector<std::size_t>> depending;  ///< for each unknown the points that it acts on
  log::Progress* progress = nullptr;                ///< may be null
  /// Where to begin, one value for each unknown: the search goes on from there alone. Empty: it looks everywhere.
  std::vector<double> from{};
};

struct MapEstimate {
  double value = 0;
  double spread = 0;  ///< standard deviation of its logarithm, given the data
  /// Whether the data say more than was believed before: they make the spread smaller by a third at least.
  bool determined = false;
};

struct MapResult {
  std::vector<MapEstimate> estimates;            ///< in the order of the unknowns
  std::vector<double> log_errors;                ///< of each point
  double sigma = 0;                              ///< standard deviation of these, 90 % of them within 1.645
  std::vector<std::vector<double>> correlation;  ///< of the estimates' errors, given the data; symmetric
};

/// Huber's loss of the errors in units of what they scatter by (0.03 to 0.1), and the squares of the parameters'
/// distances from their priors in units of their spreads, of those with heavy tails the logarithm. Line searches along
/// each parameter, since caps make the model unsmooth, and Levenberg-Marquardt steps. Deterministic.
/// @source  loss: Huber, Robust Statistics, 1981; steps: Marquardt, SIAM J. Appl. Math. 11 (1963)
MapResult fit_map(const MapRequest& request);

}  // namespace linkcast::fit
