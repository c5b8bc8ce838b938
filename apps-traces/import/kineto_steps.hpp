#pragma once
#include <vector>

#include "apps-traces/import/kineto_events.hpp"
#include "apps-traces/import/kineto_file.hpp"

namespace linkcast::kineto {

/// Numbers the steps of a rank's work: by the profiler's own marks (ProfilerStep#) where it has them, else a step ends
/// with the last work of an optimizer.
void number_steps(const std::vector<Event>& events, RankRecording& recording);

/// Counts what the profiler wrote down before each launch, on the threads that launch.
void count_recorded(const std::vector<Event>& events, RankRecording& recording);

}  // namespace linkcast::kineto
