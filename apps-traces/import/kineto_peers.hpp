#pragma once
// Copies between GPUs in recordings: which rank is at the other end.
#include <string>
#include <vector>

#include "apps-traces/import/kineto_file.hpp"

namespace linkcast::kineto {

/// Sets the peer of each copy between GPUs. One whose other end is no rank's GPU, or could be that of several, is no
/// copy any more: it keeps its recorded time.
/// @returns  what was assumed, and what could not be told
std::vector<std::string> find_peers(std::vector<RankRecording>& ranks);

}  // namespace linkcast::kineto
