#include "sim/replay/host_scale.hpp"

#include <cmath>

#include "sim/base/parse.hpp"

namespace linkcast::replay {
namespace {

constexpr double kDigits = 1e4;  // source: ours, far below what steps scatter
constexpr double kMost = 1024;   // source: ours, no CPU is a thousand times slower than the recorded one

/// Step time of a trace by the scale of its CPU times; never falls.
class Steps {
 public:
  Steps(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine, const ReplayPart& trace, bool local)
      : catalogue_(catalogue), request_{machine, {trace}} {
    request_.local = local;
    request_.interval = false;
  }
  double operator()(double scale) {
    request_.host_scale = scale;
    const std::optional<double> step = replay(catalogue_, request_).jobs.front().step_time_s;
    if (!step) throw InputError(request_.parts.front().trace + ": has no step markers, so no step can be compared");
    return *step;
  }
  /// Least scale at which a step takes so long. @param high  at which it takes longer
  double scale_of(double step_s, double high) {
    double low = 0;
    while ((high - low) * kDigits > 1) {
      const double middle = (low + high) / 2;
      ((*this)(middle) < step_s ? low : high) = middle;
    }
    return std::round(high * kDigits) / kDigits;
  }
  /// A scale at which a step takes at least so long. @throws InputError  none does
  double beyond(double step_s, const std::string& option) {
    double high = 1;
    while ((*this)(high) < step_s && high < kMost) high *= 2;
    if ((*this)(high) < step_s)
      throw InputError(option + ": " + to_text(Seconds{step_s}) + " is more than a thousand times what the CPUs of " +
                       request_.parts.front().trace + " took");
    return high;
  }

 private:
  catalogue::Catalogue& catalogue_;
  ReplayRequest request_;
};

}  // namespace

double fit_host_scale(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine, const ReplayPart& trace,
                      double local_step_s) {
  Steps steps(catalogue, machine, trace, true);
  const double least_s = steps(0);
  if (least_s > local_step_s)
    throw InputError("local_step: what the GPUs of " + trace.trace + " compute takes " + to_text(Seconds{least_s}) +
                     " a step, longer than " + to_text(Seconds{local_step_s}));
  return steps.scale_of(local_step_s, steps.beyond(local_step_s, "local_step"));
}

HostAnchor anchor_host(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine, const ReplayPart& trace,
                       double step_s) {
  constexpr double kDelay = 0.005;  // source: ours, of a step: what the CPU adds before it counts as late
  Steps steps(catalogue, machine, trace, false);
  const double device_s = steps(0);
  if (device_s < step_s) return {steps.scale_of(step_s, steps.beyond(step_s, "option step-time")), std::nullopt};
  const double late_s = device_s * (1 + kDelay);
  return {steps(1) <= late_s ? 1 : steps.scale_of(late_s, 1), device_s};
}

}  // namespace linkcast::replay
