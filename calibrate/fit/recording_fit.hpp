#pragma once
// What a profiler that records costs the CPU, by what it writes down.
#include <vector>

#include "calibrate/fit/fit_context.hpp"
#include "sim/records/launch_record.hpp"

namespace linkcast::fit {

/// Sets recording.launch_s, call_s, operator_s and collective_s from calls that were timed in short queues without the
/// profiler, with CUDA activities recorded, and with CPU and CUDA activities: medians over calls, GPUs and occasions of
/// the difference that one event makes. Nothing is set where no record holds all three.
/// @throws InputError  a recorded call that no point has without recording
void fit_recording(FitContext& context, const std::vector<LaunchRecord>& launches);

}  // namespace linkcast::fit
