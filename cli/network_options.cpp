#include "cli/network_options.hpp"

#include <fmt/format.h>

#include "cli/texts.hpp"
#include "sim/base/quantity.hpp"

namespace linkcast::cli {

std::vector<std::pair<std::string, std::string>> network_rows(const Json& result) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Json& job : result.value("beside", Json::array()))
    rows.emplace_back("beside it", fmt::format("{} on {} nodes, service level {}", job["op"].get<std::string>(),
                                               job["nodes"].dump(), job["service_level"].dump()));
  if (!result.contains("percentiles")) return rows;
  rows.emplace_back("quiet network", seconds(result["quiet_s"]));
  rows.emplace_back("noise",
                    fmt::format("{} samples of seed {}, service level {}, mean {}", result["samples"].dump(),
                                result["seed"].dump(), result["service_level"].dump(), seconds(result["mean_s"])));
  std::string text = "min " + seconds(result["min_s"]);
  for (const auto& [name, value] : result["percentiles"].items()) text += "  " + name + " " + seconds(value);
  rows.emplace_back("percentiles", text + "  max " + seconds(result["max_s"]));
  return rows;
}

}  // namespace linkcast::cli
