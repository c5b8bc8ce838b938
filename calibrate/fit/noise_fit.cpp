#include "calibrate/fit/noise_fit.hpp"

#include <cmath>
#include <optional>

#include "calibrate/fit/message_fit.hpp"
#include "sim/platform/noise.hpp"
#include "sim/records/input_error.hpp"
#include "sim/units/random.hpp"

namespace linkcast::fit {
namespace {

constexpr double kMedian = 0.5;  // source: the definition

struct Found {
  const Measurement* from = nullptr;
  const MeasuredSpread* spread = nullptr;
  FabricDistance distance;
  double alone_s = 0;  ///< of the same message between neighbours, by the fitted curve
};

/// Probability that the median of the largest of n draws has: half of all sets of n lie below it.
double of_the_largest(int n) { return std::pow(kMedian, 1.0 / n); }

Found look_up(const FitContext& context, const Measurement& m, const MeasuredSpread& spread,
              const std::map<std::string, FabricDistance>& distances) {
  const auto distance = distances.find(spread.distance);
  if (distance == distances.end() || distance->second.links == 0)
    throw InputError(m.path, "/points",
                     "'" + spread.distance + "': no distance of this fabric with links between switches");
  if (spread.service_level != kDefaultLevel)
    throw InputError(m.path, "/points", "noise is that of the default service level, " + std::to_string(kDefaultLevel));
  Calibration curves;
  curves.parameters = context.found;
  const std::string transport = spread.transport == "mpi" ? "mpi_network" : spread.transport;
  if (!curves.find("transport." + transport + ".r0.startup_s"))
    throw InputError(m.path, "/points", "noise needs a measured message of " + transport + " between neighbours");
  return {&m, &spread, distance->second, message_time(curves, transport, spread.size_B)};
}

/// lost = most x U^c of a way, c the exponent of one link over their number: mean = most / (1 + c), and the largest of
/// n draws has the median most x (1/2)^(c / n).
void fit_loss(FitContext& context, const Found& found) {
  const MeasuredSpread& spread = *found.spread;
  const double alone_Bps = spread.size_B / found.alone_s;
  const double mean = 1 - *spread.mean_Bps / alone_Bps, most = 1 - *spread.min_Bps / alone_Bps;
  double c = most / mean - 1;
  for (double before = -1; c != before;) {  // contracts: a hundredth of it enters for n = 100
    before = c;
    c = most / mean / std::pow(kMedian, c / spread.repetitions) - 1;
    if (!(mean > 0 && c > 0 && c < spread.repetitions))
      throw InputError(found.from->path, "/points",
                       "goodput below that of neighbours is needed, the minimum well below the mean");
  }
  const double precision = found.from->precision;
  const auto set = [&](const char* name, double value) { context.set(name, value, precision * value, "1"); };
  set("noise.most_loss", mean * (1 + c));
  set("noise.loss_exponent", c * found.distance.links);
}

/// wait = median x exp(s Z): mean = median x exp(s^2 / 2), and the largest of n draws has the median exp(s z). Of the
/// two solutions the narrower distribution; the other one is wider than the largest draw can tell.
void fit_wait(FitContext& context, const Found& found) {
  const MeasuredSpread& spread = *found.spread;
  const double alone_s = found.alone_s + found.distance.farther_s;
  const double mean = *spread.mean_time_s - alone_s, most = *spread.max_time_s - alone_s;
  const double z = normal_quantile(of_the_largest(spread.repetitions));
  const double root = z * z - 2 * std::log(most / mean);
  if (!(mean > 0 && root >= 0))
    throw InputError(found.from->path, "/points", "no distribution has this mean and this maximum of so many messages");
  const double sigma = z - std::sqrt(root), median = mean * std::exp(-sigma * sigma / 2);
  const double precision = found.from->precision;
  context.set("noise.wait_s", median / found.distance.links, precision * median / found.distance.links, "s");
  context.set("noise.wait_sigma", sigma, precision * sigma, "1");
}

}  // namespace

void fit_noise(FitContext& context, const std::vector<Measurement>& measurements,
               const std::map<std::string, FabricDistance>& distances) {
  std::optional<Found> loss, wait;
  for (const Measurement& m : measurements)
    for (const MeasuredSpread& spread : m.spreads) {
      if (spread.mean_Bps && spread.min_Bps) loss = look_up(context, m, spread, distances);
      if (spread.mean_time_s && spread.max_time_s) wait = look_up(context, m, spread, distances);
    }
  if (!loss && !wait) return;
  const Found& any = loss ? *loss : *wait;
  if (!loss || !wait)
    throw InputError(any.from->path, "/points",
                     "noise needs mean and minimum of the goodput, mean and maximum of the time");
  fit_loss(context, *loss);
  fit_wait(context, *wait);
}

}  // namespace linkcast::fit
