#include "cli/replay_tables.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "cli/texts.hpp"
#include "sim/base/parse.hpp"

namespace linkcast::cli {
namespace {

constexpr std::size_t kMostStepRows = 12;  // as many as fit on a screen with the rest; --json has all

std::vector<std::string> step_row(const std::string& name, double recorded_s, double forecast_s) {
  const std::string difference = recorded_s > 0 ? signed_percent(forecast_s / recorded_s - 1) : "-";
  return {name, seconds(recorded_s), seconds(forecast_s), difference};
}

std::string rate_text(const Json& value) { return value == 0 ? "-" : to_text(BytesPerSecond{value.get<double>()}); }

std::string calls(double number) { return number == std::floor(number) ? fixed(number, 0) : fixed(number, 1); }

}  // namespace

void print_recorded_steps(const Json& result) {
  const Json& recorded = result["recorded_steps_s"];
  const Json& forecast = result["steps_s"];
  if (recorded.empty() || recorded.size() != forecast.size()) return;
  std::vector<std::vector<std::string>> table{{"step", "recorded", "forecast", "difference"}};
  for (std::size_t step = 0; step < std::min(recorded.size(), kMostStepRows); ++step)
    table.push_back(step_row(std::to_string(step + 1), recorded[step], forecast[step]));
  if (recorded.size() > kMostStepRows) table.push_back({"...", "", "", ""});
  table.push_back(step_row("median", result["recorded_step_time_s"], result["step_time_s"]));
  std::cout << '\n';
  print_table(table);
}

void print_operations(const Json& result) {
  const Json& operations = result["operations"];
  if (operations.empty()) return;
  const bool recorded =
      std::any_of(operations.begin(), operations.end(), [](const Json& row) { return !row["recorded_s"].is_null(); });
  std::vector<std::vector<std::string>> table{{"operation", "calls", "bytes", "time", "exposed", "bus bandwidth"}};
  if (recorded) table[0].insert(table[0].end(), {"recorded", "bus bandwidth"});
  for (const Json& row : operations) {
    table.push_back({text(row["op"]), calls(row["calls"]), to_text(Bytes{row["size_B"].get<double>()}),
                     seconds(row["time_s"]), seconds(row["exposed_s"]), rate_text(row["bus_bandwidth_Bps"])});
    if (!recorded) continue;
    const bool known = !row["recorded_s"].is_null();
    table.back().push_back(known ? seconds(row["recorded_s"]) : "-");
    const Json& rate = row["recorded_bus_bandwidth_Bps"];
    table.back().push_back(rate.is_null() ? "-" : rate_text(rate));
  }
  std::cout << '\n';
  print_table(table);
}

}  // namespace linkcast::cli
