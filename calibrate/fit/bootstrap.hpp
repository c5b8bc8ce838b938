#pragma once
// Standard errors by refitting resampled data: what the covariance of one fit cannot know, since repetitions of one
// point are not independent and the choice of pieces moves with the data.
#include <map>
#include <string>

#include "calibrate/fit/fit_context.hpp"
#include "sim/base/progress.hpp"

namespace linkcast::fit {

struct BootstrapError {
  double stderr_ = 0;  ///< standard deviation over those replicas
  int replicas = 0;    ///< refits that hold this parameter over the same range of sizes
};

struct Bootstrap {
  int replicas = 0;  ///< refits that were tried
  int failed = 0;    ///< whose data determined nothing, or not what a fit needs
  std::map<std::string, BootstrapError> of;

  /// 0 where too few replicas hold the parameter for a standard deviation.
  [[nodiscard]] double stderr_of(const std::string& name) const;
};

/// Samples drawn again from themselves. Points of one transport, size and timing are drawn with replacement, each with
/// all its repetitions; where such a group is one point alone, its repetitions are. The same seed gives the same draws
/// on every machine.
/// @source  Davison and Hinkley, Bootstrap Methods and their Application, 1997, 3.8: of nested data, draw the outer
///          level with replacement and keep the inner one whole; drawing both counts the inner scatter twice
std::vector<Sample> resample(const std::vector<Sample>& samples, unsigned seed);

/// Refits `replicas` times. A parameter of a range of sizes counts as the same where the range is the same, whatever
/// its number; sizes that end a range, and the chunk, count where they are the same. @param progress  may be null
Bootstrap run_bootstrap(const FitContext& fitted, int replicas, log::Progress* progress);

}  // namespace linkcast::fit
