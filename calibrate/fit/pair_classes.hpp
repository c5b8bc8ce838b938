#pragma once
// Which pairs of devices are alike, told by the data alone, and whether the wiring says the same.
#include <map>
#include <string>
#include <vector>

#include "calibrate/fit/fit_context.hpp"

namespace linkcast::fit {

/// Ordered pair of device indices.
using DevicePair = std::pair<int, int>;

/// Splits values into classes at their largest gaps: as many as there are gaps of at least 1 % and three times the
/// scatter inside the classes; classes less than 2 % or three times the noise apart are one.
/// @param levels  natural logarithms
/// @param noise   standard error of one level
/// @returns  the class of each level, numbered from the lowest
std::vector<int> classes_of(const std::vector<double>& levels, double noise);

struct PairClass {
  double value = 0;  ///< seconds of the smallest copies, or bytes/s of the largest
  std::vector<DevicePair> pairs;
  std::vector<std::string> members;    ///< the same in words, see compact
  std::map<std::string, int> wirings;  ///< how many pairs are wired how
};

/// The pairs of one transport at its smallest sizes (what a copy costs to start) or at its largest (the rate).
struct PairClasses {
  std::string transport;
  bool rate = false;
  double from_B = 0, to_B = 0;
  double noise = 0;                 ///< relative standard error of one pair's value
  std::vector<PairClass> classes;   ///< shortest time first
  std::vector<std::string> unlike;  ///< pairs wired alike that the data tell apart, in words
  std::vector<std::string> alike;   ///< wirings that the data cannot tell apart
};

std::vector<PairClasses> find_pair_classes(const FitContext& context);

/// "gpu0,gpu1->gpu4..gpu7" (each with each), "gpu4->*" (all that were measured from gpu4), "*->gpu5".
std::vector<std::string> compact(const Topology& topology, const std::vector<DevicePair>& pairs,
                                 const std::vector<DevicePair>& all);

Json to_json(const std::vector<PairClasses>& found);

}  // namespace linkcast::fit
