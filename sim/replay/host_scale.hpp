#pragma once
#include <optional>
#include <string>

#include "sim/replay/replay_run.hpp"

namespace linkcast::replay {

/// What the CPU times of a recording have to be multiplied by so that a step without any exchange, each rank by itself,
/// takes what it was measured to take without recording. No network enters.
/// @param local_step_s  measured, > 0
/// @throws InputError  the trace has no steps, or what its GPUs compute takes longer alone
double fit_host_scale(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine, const ReplayPart& trace,
                      double local_step_s);

struct HostAnchor {
  double scale = 1;
  /// Without any CPU time a step takes this, no less than measured: the scale is then the largest, 1 at most, at which
  /// the CPUs delay no step.
  std::optional<double> device_s{};
};

/// What the CPU times of a recording have to be multiplied by so that a step on the machine it was recorded on, with
/// all exchange, takes what it was measured to take without recording.
/// @param step_s  measured, > 0. @throws InputError  the trace has no steps, or no CPU times that could reach it
HostAnchor anchor_host(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine, const ReplayPart& trace,
                       double step_s);

}  // namespace linkcast::replay
