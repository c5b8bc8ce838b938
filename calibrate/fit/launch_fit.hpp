#pragma once
// Host costs of issuing work, from launch records: parameters launch.* of sim/records/parameters.hpp.
#include <vector>

#include "calibrate/fit/fit_context.hpp"
#include "sim/records/launch_record.hpp"

namespace linkcast::fit {
// CPU cost of a profiler that records, by what it writes down.

/// Sets recording.launch_s, call_s, operator_s and collective_s from calls that were timed in short queues without the
/// profiler, with CUDA activities recorded, and with CPU and CUDA activities: medians over calls, GPUs and occasions of
/// the difference that one event makes. Nothing is set where no record holds all three.
/// @throws InputError  a recorded call that no point has without recording
void fit_recording(FitContext& context, const std::vector<LaunchRecord>& launches);

/// Of one call, in seconds, G GPUs that one thread issues for, C calls in a group, S sends of one GPU in it:
///   single_process  call + G (C gpu + (S - 1) send)
///   process         call + (S - 1) send                       an issuer a GPU
///   pytorch         call, or batch + (S - 1) send of point-to-point
///   copy, kernel    call
///   synchronise     call: from the end of the work to the return of the wait
/// from the medians of the host's part of calls at rest, of PyTorch's small ones in a row too; sigma is the spread of
/// ln(median / model) over all points, so that it holds what the sizes, operations and spells of the host differ by.
/// Where another host fitted a subject, all costs are as many times its, since one record hardly tells them apart,
/// unless the points say that their proportions are others.
/// @param hosts  others, best first
void fit_launches(FitContext& context, const std::vector<LaunchRecord>& launches,
                  const std::vector<Calibration>& hosts);

}  // namespace linkcast::fit
