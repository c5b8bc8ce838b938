#pragma once
// Answers over sizes, as nccl-tests prints its own.
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast::cli {

/// {"kind": "curve", "of", "points": answers with their size_B, "average_busbw_Bps" or "average_bandwidth_Bps"}; of
/// what-if answers the points have before, after and change.
/// @param answers  one a size, of one kind
Json curve_of(const std::vector<double>& sizes, const std::vector<Json>& answers);

void print_curve(const Json& curve);

}  // namespace linkcast::cli
