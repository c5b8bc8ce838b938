#pragma once
#include "sim/replay/replay.hpp"
#include "sim/work/estimate.hpp"

namespace linkcast::replay {

/// What a replay will take, from the applications' first steps and the lengths of files, without the replay.
/// Where counting already exceeds work::limits() it ends: then this is less than it would be.
work::Estimate estimate_of(const std::string& data_dir, const ReplayRequest& request);

}  // namespace linkcast::replay
