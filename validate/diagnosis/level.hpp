#pragma once
// Is everything, or all of one kind, slower than forecast and box allow? No point tells by itself, and no fault need be
// known.
#include <string>
#include <vector>

#include "validate/compare.hpp"
#include "validate/diagnosis/noise.hpp"

namespace linkcast::diagnosis {

class HealthyNoise;

/// The mean of some points beside what is expected of them.
struct Level {
  std::string part;  ///< everything; "peer ce read"; where there are small and large sizes, these alone, too
  std::vector<std::size_t> places{};  ///< of its points, among the judged ones
  double times = 1;                   ///< measured over expected, geometric mean
  double low = 1, high = 1;           ///< of 90 % of healthy machines
  double least = 1;                   ///< slower by less is not told from a healthy machine
  double chance = 1;                  ///< that a healthy machine is as slow
};

/// Means of points that are tested together: `least` and `odd` share out the chance of a false alarm among them.
class Levels {
 public:
  /// @param points  in the order of the noise. @param alarm  chance that a healthy machine has an odd one
  Levels(const HealthyNoise& noise, const std::vector<validate::ComparedPoint>& points, double alarm);
  /// @param residuals  ln(measured / expected) of each point
  [[nodiscard]] std::vector<Level> of(const std::vector<double>& residuals) const;

 private:
  struct Part {
    std::string name;
    std::vector<std::size_t> places;
    Covariance variance;
    double least = 1;
  };
  std::vector<Part> parts_;
};

/// Those that are slower than `least`, the most unlikely first.
std::vector<Level> odd_levels(const std::vector<Level>& levels);

}  // namespace linkcast::diagnosis
