#pragma once
// Repetitions that do not look like one distribution: outliers, and points that take one of two times.
#include <string>
#include <vector>

#include "calibrate/fit/fit_context.hpp"

namespace linkcast::fit {

/// The two times that the repetitions of one point take.
struct TwoModes {
  double low_s = 0, high_s = 0;  ///< medians
  double high_share = 0;         ///< of the repetitions
};

/// Splits at the largest gap of ln t that leaves at least 15 % of the times on either side; two modes if their medians
/// are 5 % and four of their own standard deviations apart, with nothing in the middle.
/// @returns false if the times have one mode, or are too few to tell
bool find_two_modes(const std::vector<double>& times, TwoModes& modes);

/// Times more than 5 robust standard deviations (at least 1 % of the median each) from the median.
std::vector<double> find_outliers(const std::vector<double>& times);

/// Points of one transport and size that have enough repetitions.
struct Suspicious {
  std::string transport;
  bool single = false;
  double size_B = 0;
  int points = 0;
  int two_modes = 0;                             ///< points with two modes
  double low_s = 0, high_s = 0, high_share = 0;  ///< medians over those points
  int with_outliers = 0;                         ///< points with outliers, of one mode
  int outliers = 0;                              ///< times
  double worst = 1;                              ///< the outlier farthest off, over its point's median
  [[nodiscard]] bool clean() const { return two_modes + with_outliers == 0; }
};

/// By transport, timing and size; clean ones too.
std::vector<Suspicious> find_suspicious(const std::vector<Sample>& samples);

/// One line for each transport and timing that is not clean, its sizes together.
std::vector<std::string> lines_of(const std::vector<Suspicious>& groups);

/// At most `most` groups that are not clean, those with most points first to stay; says how many were left out.
Json to_json(const std::vector<Suspicious>& groups, std::size_t most);

}  // namespace linkcast::fit
