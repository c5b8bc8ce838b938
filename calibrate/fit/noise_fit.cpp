#include "calibrate/fit/noise_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "calibrate/fit/message_fit.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/random.hpp"
#include "sim/machine/noise.hpp"

namespace linkcast::fit {
namespace {

constexpr double kMiddle = 0.5;   // source: the definition of a median, and of the midpoint rule
constexpr int kMidpoints = 1000;  // ours: of the midpoint rule; twice as many move the fit by 1e-5
constexpr int kPairs = 200;       // ours: on either side of a plane, as above
constexpr double kExact = 1e-9;   // ours: of the interval that a root was looked for in

double midpoint(int i, int steps) { return (i + kMiddle) / steps; }

}  // namespace

/// Either both draws are above, or one is below and the other makes up for it: smooth in what the lower one is.
double half_sum_above(const OneWay& way, double half_sum) {
  const double lower = way.below(half_sum);
  double other = 0;
  for (int i = 0; i < kMidpoints; ++i)
    other += 1 - way.below(2 * half_sum - way.quantile(lower * midpoint(i, kMidpoints)));
  return (1 - lower) * (1 - lower) + 2 * lower * other / kMidpoints;
}

double largest_half_sum(const OneWay& way, int draws, double low, double high) {
  const double above = 1 - std::pow(kMiddle, 1.0 / draws);  // half of all sets of so many draws have none above
  return root_of([&](double half_sum) { return above - half_sum_above(way, half_sum); }, low, high);
}

double mean_inverse_half_sum(const OneWay& way) {
  std::vector<double> drawn;
  for (int i = 0; i < kPairs; ++i) drawn.push_back(way.quantile(midpoint(i, kPairs)));
  double sum = 0;
  for (const double there : drawn)
    for (const double back : drawn) sum += 2 / (there + back);
  return sum / kPairs / kPairs;
}

double root_of(const std::function<double(double)>& rising, double low, double high) {
  for (const double enough = kExact * (high - low); high - low > enough;) {
    const double middle = (low + high) / 2;
    (rising(middle) < 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

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
    throw InputError(m.path, "/points", fmt::format("noise is that of the default service level, {}", kDefaultLevel));
  Calibration curves;
  curves.parameters = context.found;
  const std::string transport = spread.transport == Carrier::kMpi ? "mpi_network" : spread.transport.name();
  if (!curves.find(key::startup(transport, 0)))
    throw InputError(m.path, "/points", "noise needs a measured message of " + transport + " between neighbours");
  return {&m, &spread, distance->second, message_time(curves, transport, spread.size_B)};
}

/// A way that loses most x U^c: how many times as long a byte takes.
OneWay slowed_bytes(double most, double c) {
  return {[=](double u) { return 1 / (1 - most * std::pow(u, c)); },
          [=](double slowdown) {
            const double lost = 1 - 1 / slowdown;
            return lost <= 0 ? 0.0 : std::min(1.0, std::pow(lost / most, 1 / c));
          }};
}

/// Median of a wait with this mean: mean = median x exp(s^2 / 2).
double median_wait_s(double mean_s, double sigma) { return mean_s * std::exp(-sigma * sigma / 2); }

OneWay waits(double mean_s, double sigma) {
  const double median_s = median_wait_s(mean_s, sigma);
  return {[=](double u) { return median_s * std::exp(sigma * normal_quantile(u)); },
          [=](double wait_s) { return wait_s <= 0 ? 0 : normal_below(std::log(wait_s / median_s) / sigma); }};
}

/// Goodput is the size over half a round trip. For each exponent one largest loss has the printed mean; the more uneven
/// the draws, the lower the smallest goodput of n.
void fit_loss(FitContext& context, const Found& found) {
  constexpr double kEven = 0.05, kUneven = 50, kLeast = 1e-6;  // source: ours; roots between
  const MeasuredSpread& spread = *found.spread;
  const double alone_Bps = spread.size_B / found.alone_s;
  const double mean = *spread.mean_Bps / alone_Bps, least = *spread.min_Bps / alone_Bps;
  const auto most_lost = [&](double c) {
    return root_of([&](double most) { return mean - mean_inverse_half_sum(slowed_bytes(most, c)); }, 0, 1 - kLeast);
  };
  const auto too_low = [&](double c) {
    const double most = most_lost(c);
    return least - 1 / largest_half_sum(slowed_bytes(most, c), spread.repetitions, 1, 1 / (1 - most));
  };
  if (!(mean > 0 && mean < 1 && too_low(kEven) < 0 && too_low(kUneven) > 0))
    throw InputError(found.from->path, "/points",
                     "goodput below that of neighbours is needed, the minimum well below the mean");
  const double c = root_of(too_low, kEven, kUneven), precision = found.from->precision;
  const auto set = [&](const ParameterKey& key, double value) { context.set(key, value, precision * value); };
  set(key::most_loss(), most_lost(c));
  set(key::loss_exponent(), c * found.distance.links);
}

/// Of two solutions the narrower distribution; the other one is wider than the largest of n can tell.
void fit_wait(FitContext& context, const Found& found) {
  constexpr double kNarrow = 1e-3;  // ours: of a root
  const MeasuredSpread& spread = *found.spread;
  const double alone_s = found.alone_s + found.distance.farther_s;
  const double mean_s = *spread.mean_time_s - alone_s, most_s = *spread.max_time_s - alone_s;
  const auto too_long = [&](double sigma) {
    return largest_half_sum(waits(mean_s, sigma), spread.repetitions, mean_s / 2, 2 * most_s) - most_s;
  };
  const double wide = normal_quantile(of_the_largest(spread.repetitions));
  if (!(mean_s > 0 && too_long(wide) >= 0))
    throw InputError(found.from->path, "/points", "no distribution has this mean and this maximum of so many messages");
  const double sigma = root_of(too_long, kNarrow, wide), median_s = median_wait_s(mean_s, sigma);
  const double precision = found.from->precision;
  context.set(key::noise_wait(), median_s / found.distance.links, precision * median_s / found.distance.links);
  context.set(key::noise_wait_sigma(), sigma, precision * sigma);
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

namespace {

/// Kind of the cables that are farthest from the nodes; empty: a machine without a network.
std::string between_switches(const Topology& topology) {
  if (!topology.fabric.is_object() || !topology.fabric.contains("links")) return "";
  for (const char* name : {"global", "local"})
    if (topology.fabric["links"].contains(name)) return topology.fabric["links"][name]["cable"].get<std::string>();
  return "";
}

}  // namespace

void fit_distances(FitContext& context, const Topology& topology, const std::vector<Measurement>& measurements,
                   const std::map<std::string, FabricDistance>& distances) {
  const std::string kind = between_switches(topology);
  if (kind.empty()) return;
  const ParameterKey scale_key = key::cable_latency_scale(kind);
  for (const Measurement& m : measurements)
    for (const MeasuredSpread& spread : m.spreads) {
      if (!spread.mean_time_s || spread.max_time_s) continue;
      const auto distance = distances.find(spread.distance);
      if (distance == distances.end() || !(distance->second.farther_s > 0))
        throw InputError(m.path, "/points", "'" + spread.distance + "': no distance of this fabric beyond its nearest");
      Calibration curves;
      curves.parameters = context.found;
      const std::string transport = spread.transport == Carrier::kMpi ? "mpi_network" : spread.transport.name();
      if (!curves.find(key::startup(transport, 0)))
        throw InputError(m.path, "/points", "needs a measured message of " + transport + " between neighbours");
      const double beyond_s = *spread.mean_time_s - message_time(curves, transport, spread.size_B);
      if (!(beyond_s > 0)) throw InputError(m.path, "/points", "farther messages take longer than those of neighbours");
      const double scale = beyond_s / distance->second.farther_s;
      context.set(scale_key, scale, m.precision * scale * *spread.mean_time_s / beyond_s);
    }
  if (!context.has(scale_key) && context.lends(scale_key)) context.inherit(scale_key, "");
}

}  // namespace linkcast::fit
