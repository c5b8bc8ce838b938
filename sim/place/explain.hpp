#pragma once
// Why GPUs are good or bad for a job, in one line.
#include <string>
#include <vector>

#include "sim/place/objective.hpp"

namespace linkcast::placement {

/// What carries the job there: "2 rings of 3 links, class NVL", "no NVLink ring: through host memory".
std::string carried_by(const PlaceRequest& request, const std::vector<int>& gpus, const Score& score);

/// Why the first placement is better than the second.
std::string why_better(const PlaceRequest& request, const std::vector<int>& better, const std::vector<int>& worse,
                       const Score& better_score, const Score& worse_score);

}  // namespace linkcast::placement
