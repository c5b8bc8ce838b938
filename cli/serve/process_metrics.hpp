#pragma once
// Metrics that every exporter of Prometheus has: of the build and of the process.
#include <string>

namespace linkcast::serve {

/// linkcast_build_info, and process_*: CPU seconds, descriptors, memory, start, threads.
/// @source  Prometheus, Writing client libraries: process metrics; proc(5)
std::string process_metrics();

}  // namespace linkcast::serve
