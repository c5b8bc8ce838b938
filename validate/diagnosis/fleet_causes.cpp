#include <fmt/format.h>

#include <cmath>
#include <map>

#include "sim/base/statistics.hpp"
#include "validate/diagnosis/fleet.hpp"

namespace linkcast::diagnosis {
namespace {

using Times = std::map<std::string, double>;

/// By all that tells points apart; of equal ones the first and second, ...
std::vector<std::string> keys_of(const validate::Comparison& comparison) {
  std::map<std::string, int> seen;
  std::vector<std::string> keys;
  for (const validate::ComparedPoint& p : comparison.points) {
    const std::string key = p.transport + "|" + p.variant + "|" + p.ends + "|" + to_text(Bytes{p.size_B});
    keys.push_back(fmt::format("{}|{}", key, seen[key]++));
  }
  return keys;
}

Times times_of(const validate::Comparison& comparison) {
  Times times;
  const std::vector<std::string> keys = keys_of(comparison);
  for (std::size_t i = 0; i < keys.size(); ++i) times[keys[i]] = comparison.points[i].measured_s;
  return times;
}

}  // namespace

Ranking causes_beside(const Bench& bench, const std::vector<validate::Comparison>& others) {
  std::vector<Times> all;
  for (const validate::Comparison& other : others) all.push_back(times_of(other));
  const std::vector<std::string> keys = keys_of(bench.comparison());
  std::vector<Judged> points;
  std::vector<double> over;
  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < bench.judged().size(); ++k) {
    const std::size_t place = bench.judged()[k];
    std::vector<double> logs;
    for (const Times& times : all)
      if (const auto found = times.find(keys[place]); found != times.end()) logs.push_back(std::log(found->second));
    if (logs.empty()) continue;
    const validate::ComparedPoint& point = bench.comparison().points[place];
    points.push_back(judged(point));
    points.back().shared_sigma = 0;  // nothing is forecast but what a fault changes
    points.back().box_sigma = scatter_of(points.back().family, point.size_B).own;  // as two occasions on one machine
    over.push_back(std::log(point.measured_s) - median(logs));
    kept.push_back(k);
  }
  std::vector<Effect> effects = bench.ranker().effects();
  for (Effect& effect : effects)
    for (std::vector<double>& shifts : effect.shifts) {
      std::vector<double> some;
      for (const std::size_t k : kept) some.push_back(shifts[k]);
      shifts = std::move(some);
    }
  return Ranker(points, std::move(effects), false).rank(over);
}

}  // namespace linkcast::diagnosis
