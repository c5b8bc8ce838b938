#include "sim/forecast/alternatives.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace linkcast::collective {
namespace {

constexpr double kWorthSaying = 0.05;  // source: ours, half of the spread assumed of a collective's forecast

}  // namespace

Alternatives alternatives_to(const CollectiveJob& job, const CollectiveForecast& taken, Solver& solver) {
  Alternatives found;
  TunerRequest request = job.tuner_request();
  request.algorithm = request.protocol = "";
  for (const TunerEntry& entry : job.rings().tuner(job.node(), job.communicator, request)) {
    const bool is_taken = job.own == nullptr && entry.algorithm == taken.algorithm && entry.protocol == taken.protocol;
    if (is_taken) found.believes = entry;
    if (is_taken || !entry.enabled || !request.admits(entry)) continue;
    CollectiveJob other = job;
    other.algorithm = entry.algorithm;
    other.protocol = entry.protocol;
    other.own = nullptr;
    found.rows.push_back(
        {entry.algorithm, entry.protocol, job.launched_s(run_alone(other, solver).time_s()), entry.time.si});
  }
  std::stable_sort(found.rows.begin(), found.rows.end(),
                   [](const Alternatives::Row& a, const Alternatives::Row& b) { return a.time_s < b.time_s; });
  if (found.rows.empty()) return found;
  const Alternatives::Row& best = found.rows.front();
  const double times = taken.time_s / best.time_s;
  const bool percents = times < 2;
  const long rounded = std::lround(percents ? 100 * (times - 1) : 10 * times);
  if (best.time_s < (1 - kWorthSaying) * taken.time_s)
    found.hint = best.algorithm + " " + best.protocol + " would be " +
                 (percents ? std::to_string(rounded) + " % faster than"
                           : std::to_string(rounded / 10) + "." + std::to_string(rounded % 10) + " times as fast as") +
                 (job.own != nullptr ? " " + taken.algorithm : " what the library takes");
  return found;
}

}  // namespace linkcast::collective
