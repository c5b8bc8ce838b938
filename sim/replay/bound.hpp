#pragma once
#include <string>

#include "sim/replay/path.hpp"

namespace linkcast::replay {

/// What limits a replay, for people: "host-bound", "device-bound" or "link-bound" by the largest part of the critical
/// path, and what that means for links. Launches count as the GPUs' own. Empty where nothing takes time.
std::string bound_of(const CriticalPath& path);

}  // namespace linkcast::replay
