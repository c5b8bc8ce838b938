#pragma once
// What a fault does to every measured point: forecasts with it over forecasts without.
#include <string>
#include <vector>

#include "validate/diagnosis/cause.hpp"

namespace linkcast::diagnosis {

struct Effect {
  Cause cause;
  std::vector<std::vector<double>> shifts;  ///< of each trial: ln(time with it / time without) of each point
};

/// Effects of the causes on some points. What no point shows, or what cannot be forecast, is left out.
/// @param platform  id without edits. @param edits  of the machine that is expected
/// @param points  that were compared with that machine
std::vector<Effect> effects_of(catalogue::Catalogue& catalogue, const std::string& platform,
                               const std::vector<std::string>& edits,
                               const std::vector<validate::ComparedPoint>& points, std::vector<Cause> causes);

}  // namespace linkcast::diagnosis
