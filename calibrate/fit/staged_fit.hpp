#pragma once
// The curve of staged copies over message sizes: a launch-bound range, a chunk, and what a byte costs on either side.
#include <limits>
#include <string>
#include <vector>

#include "calibrate/fit/fit_context.hpp"

namespace linkcast::fit {
/// What data without enough sizes lack.
inline constexpr const char* kNoPipeline =
    "the staged copies show no chunked pipeline: sizes from 1 KiB to 64 MiB are needed";

struct StagedShape {
  double flat_to_B = 0;  ///< 0: no launch-bound range
  double chunk_B = std::numeric_limits<double>::infinity();
};

/// Flat end and chunk size that explain the medians best. @throws InputError  there is no chunk
StagedShape choose_shape(const std::vector<SizePoint>& points);

/// Flat time (0 if the shape has none), start-up, serial and pipelined time per byte: values and standard errors.
LinearFit fit_shape(const std::vector<Sample>& samples, const StagedShape& shape);

}  // namespace linkcast::fit
