#include "sim/collective/alternatives.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace linkcast::collective {
namespace {

constexpr double kWorthSaying = 0.05;  // source: ours, half of the spread assumed of a collective's forecast

}  // namespace

void add_alternatives(const std::vector<TunerEntry>& rows, const std::string& algorithm, const std::string& protocol,
                      double time_s, const std::function<double(const TunerEntry&)>& forecast_s, Json& out) {
  std::vector<std::pair<double, Json>> others;
  for (const TunerEntry& entry : rows) {
    const bool taken = entry.algorithm == algorithm && entry.protocol == protocol;
    if (taken) out["library_believes"] = {{"time_s", entry.time.si}, {"bandwidth_Bps", entry.bandwidth.si}};
    if (taken || !entry.enabled) continue;
    const double other_s = forecast_s(entry);
    others.emplace_back(other_s, Json{{"algorithm", entry.algorithm},
                                      {"protocol", entry.protocol},
                                      {"time_s", other_s},
                                      {"library_believes_s", entry.time.si}});
  }
  std::stable_sort(others.begin(), others.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  out["alternatives"] = Json::array();
  for (const auto& [other_s, row] : others) out["alternatives"].push_back(row);
  if (!others.empty() && others.front().first < (1 - kWorthSaying) * time_s)
    out["hint"] = others.front().second["algorithm"].get<std::string>() + " " +
                  others.front().second["protocol"].get<std::string>() + " would be " +
                  std::to_string(static_cast<int>(std::lround(100 * (time_s / others.front().first - 1)))) +
                  " % faster than what the library takes";
}

}  // namespace linkcast::collective
