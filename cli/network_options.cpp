#include "cli/network_options.hpp"

#include <chrono>
#include <iostream>

#include "cli/texts.hpp"
#include "sim/congestion/network_load.hpp"

namespace linkcast::cli {
void show_progress() {
  using Clock = std::chrono::steady_clock;
  congestion::tell_samples([last = Clock::now()](int done, int of) mutable {
    if (Clock::now() - last < std::chrono::seconds(2)) return;
    last = Clock::now();
    std::cerr << "noise: " << done << " of " << of << " samples\n";
  });
}

std::vector<std::pair<std::string, std::string>> network_rows(const Json& result) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Json& job : result.value("beside", Json::array()))
    rows.emplace_back("beside it", job["op"].get<std::string>() + " on " + job["nodes"].dump() +
                                       " nodes, service level " + job["service_level"].dump());
  if (!result.contains("percentiles")) return rows;
  rows.emplace_back("quiet network", seconds(result["quiet_s"]));
  rows.emplace_back("noise", result["samples"].dump() + " samples of seed " + result["seed"].dump() +
                                 ", service level " + result["service_level"].dump() + ", mean " +
                                 seconds(result["mean_s"]));
  std::string text = "min " + seconds(result["min_s"]);
  for (const auto& [name, value] : result["percentiles"].items()) text += "  " + name + " " + seconds(value);
  rows.emplace_back("percentiles", text + "  max " + seconds(result["max_s"]));
  return rows;
}

}  // namespace linkcast::cli
