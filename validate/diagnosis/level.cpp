#include "validate/diagnosis/level.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/base/statistics.hpp"
#include "validate/diagnosis/healthy_noise.hpp"

namespace linkcast::diagnosis {
namespace {

constexpr int kHalvings = 60;       // source: ours, far below what is printed
constexpr double kSlowest = 1e100;  // source: ours, beyond the widest interval

std::string joined(const validate::ComparedPoint& point) {
  return point.variant.empty() ? point.transport : point.transport + " " + point.variant;
}

/// ln(times) that a healthy machine reaches by this chance.
double least_of(const Covariance& variance, double chance) {
  double low = 0, high = std::log(kSlowest);
  for (int k = 0; k < kHalvings; ++k) {
    const double middle = (low + high) / 2;
    (HealthyNoise::chance(variance, middle) > chance ? low : high) = middle;
  }
  return high;
}

}  // namespace

Levels::Levels(const HealthyNoise& noise, const std::vector<validate::ComparedPoint>& points, double alarm) {
  std::set<std::vector<std::size_t>> known;
  const auto add = [&](const std::string& name, auto belongs) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (belongs(points[i])) places.push_back(i);
    if (!places.empty() && known.insert(places).second) parts_.push_back({name, places, noise.of_mean(places)});
  };
  const auto add_sizes = [&](const std::string& name, auto belongs) {
    add(name, belongs);
    add(name + " from 1 MiB on", [&](const auto& p) { return belongs(p) && p.size_B >= kLargeFrom_B; });
    add(name + " below 1 MiB", [&](const auto& p) { return belongs(p) && p.size_B < kLargeFrom_B; });
  };
  add_sizes("everything", [](const auto&) { return true; });
  std::set<std::string> kinds;
  for (const validate::ComparedPoint& point : points) kinds.insert(joined(point));
  for (const std::string& kind : kinds) add_sizes(kind, [&](const auto& p) { return joined(p) == kind; });
  for (Part& part : parts_)  // Bonferroni: each its part of the chance
    part.least = std::exp(least_of(part.variance, alarm / static_cast<double>(parts_.size())));
}

std::vector<Level> Levels::of(const std::vector<double>& residuals) const {
  std::vector<Level> levels;
  for (const Part& part : parts_) {
    double sum = 0;
    for (const std::size_t place : part.places) sum += residuals[place];
    const double mean = sum / static_cast<double>(part.places.size());
    const double sigma = std::sqrt(part.variance.model + part.variance.figures);
    levels.push_back({part.name, part.places, std::exp(mean), std::exp(-kNinetyPercentSigmas * sigma),
                      std::exp(kNinetyPercentSigmas * sigma), part.least, HealthyNoise::chance(part.variance, mean)});
  }
  return levels;
}

std::vector<Level> odd_levels(const std::vector<Level>& levels) {
  std::vector<Level> odd;
  for (const Level& level : levels)
    if (level.times > level.least) odd.push_back(level);
  std::stable_sort(odd.begin(), odd.end(), [](const Level& a, const Level& b) { return a.chance < b.chance; });
  return odd;
}

}  // namespace linkcast::diagnosis
