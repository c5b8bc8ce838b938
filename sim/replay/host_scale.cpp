#include "sim/replay/host_scale.hpp"

#include <cmath>

#include "sim/replay/replay_run.hpp"
#include "sim/units/parse.hpp"

namespace linkcast::replay {
namespace {

constexpr double kDigits = 1e4;  // source: ours, far below what steps scatter

}  // namespace

double fit_host_scale(catalogue::Catalogue& catalogue, const std::string& platform_id, const std::string& trace,
                      double local_step_s) {
  ReplayRequest request{platform_id, {{trace}}};
  request.local = true;
  request.interval = false;
  const auto step_s = [&](double scale) {
    request.host_scale = scale;
    const std::optional<double> step = replay(catalogue, request).jobs.front().step_time_s;
    if (!step) throw InputError(trace + ": has no step markers, so no step can be compared");
    return *step;
  };
  const double least_s = step_s(0);
  if (least_s > local_step_s)
    throw InputError("local_step: what the GPUs of " + trace + " compute takes " + to_text(Seconds{least_s}) +
                     " a step, longer than " + to_text(Seconds{local_step_s}));
  double low = 0, high = 1;
  constexpr double kMost = 1024;  // source: ours, no CPU is a thousand times slower than the recorded one
  while (step_s(high) < local_step_s && high < kMost) high *= 2;
  if (step_s(high) < local_step_s)
    throw InputError("local_step: " + to_text(Seconds{local_step_s}) +
                     " is more than a thousand times what the CPUs of " + trace + " took");
  while ((high - low) * kDigits > 1) {
    const double middle = (low + high) / 2;
    (step_s(middle) < local_step_s ? low : high) = middle;
  }
  return std::round(high * kDigits) / kDigits;
}

}  // namespace linkcast::replay
