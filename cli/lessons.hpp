#pragma once
// `calibrate fit` with measured collectives: what is learned, what is left out, and what that says.
#include <string>
#include <vector>

#include "calibrate/fit/fit.hpp"
#include "cli/command.hpp"

namespace linkcast::cli {

struct LessonOptions {
  std::vector<std::string> hold_out;   ///< parts that are scored instead of fitted, all at once
  std::vector<std::string> leave_out;  ///< keys: each part that they tell apart is left out in turn
};

/// Learns the library's parameters into the fit's calibration, or forecasts what is left out. Prints tables, or with
/// --json leaves them in the returned object.
Json learn_and_print(Context& context, const LessonOptions& options, const Topology& topology,
                     const std::vector<Measurement>& measurements, fit::FitResult& fit);

}  // namespace linkcast::cli
