#include "cli/curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "cli/command.hpp"
#include "cli/texts.hpp"

namespace linkcast::cli {
namespace {

constexpr double kMicro = 1e-6, kGiga = 1e9;  // source: nccl-tests prints us and GB/s

std::string micro(const Json& seconds) {
  const double us = seconds.get<double>() / kMicro;
  return us < 100 ? fmt::format("{:.2f}", us) : us < 1000 ? fmt::format("{:.1f}", us) : fmt::format("{:.0f}", us);
}

std::string giga(const Json& rate) { return fmt::format("{:.2f}", rate.get<double>() / kGiga); }

std::string size_of_point(const Json& point) { return fmt::format("{:.0f}", point["size_B"].get<double>()); }

/// "busbw_Bps" of collectives, "bandwidth_Bps" of copies.
std::string rate_key(const Json& answer) { return answer.contains("busbw_Bps") ? "busbw_Bps" : "bandwidth_Bps"; }

void print_collectives(const Json& curve) {
  std::cout << fmt::format("# {:>12} {:>9} {:>8} {:>8} {:>9} {:>9}  {}\n", "size", "time", "algbw", "busbw", "low",
                           "high", "algorithm")
            << fmt::format("# {:>12} {:>9} {:>8} {:>8} {:>9} {:>9}\n", "(B)", "(us)", "(GB/s)", "(GB/s)", "(us)",
                           "(us)");
  for (const Json& p : curve["points"])
    std::cout << fmt::format("  {:>12} {:>9} {:>8} {:>8} {:>9} {:>9}  {}, {}\n", size_of_point(p), micro(p["time_s"]),
                             giga(p["algbw_Bps"]), giga(p["busbw_Bps"]), micro(p["time_low_s"]),
                             micro(p["time_high_s"]), text(p["algorithm"]), text(p["protocol"]));
  std::cout << "# low, high: 90 % interval of the time\n# Avg bus bandwidth    : "
            << fmt::format("{:g}", curve["average_busbw_Bps"].get<double>() / kGiga) << '\n';
}

void print_copies(const Json& curve) {
  std::cout << fmt::format("# {:>12} {:>9} {:>10} {:>9} {:>9}  {}\n", "size", "time", "bandwidth", "low", "high",
                           "transport")
            << fmt::format("# {:>12} {:>9} {:>10} {:>9} {:>9}\n", "(B)", "(us)", "(GB/s)", "(us)", "(us)");
  for (const Json& p : curve["points"])
    std::cout << fmt::format("  {:>12} {:>9} {:>10} {:>9} {:>9}  {}\n", size_of_point(p), micro(p["time_s"]),
                             giga(p["bandwidth_Bps"]), micro(p["time_low_s"]), micro(p["time_high_s"]),
                             text(p["transport"]));
  std::cout << "# low, high: 90 % interval of the time\n# Avg bandwidth        : "
            << fmt::format("{:g}", curve["average_bandwidth_Bps"].get<double>() / kGiga) << '\n';
}

void print_both(const Json& curve) {
  const std::string key = rate_key(curve["points"].front()["after"]);
  const char* rate = key == "busbw_Bps" ? "busbw" : "bandwidth";
  std::cout << fmt::format("# {:>12} {:>10} {:>10} {:>10} {:>10}\n", "size", "time", "time", rate, rate)
            << fmt::format("# {:>12} {:>10} {:>10} {:>10} {:>10} {:>9}\n", "", "before", "after", "before", "after",
                           "change")
            << fmt::format("# {:>12} {:>10} {:>10} {:>10} {:>10} {:>9}\n", "(B)", "(us)", "(us)", "(GB/s)", "(GB/s)",
                           "of time");
  for (const Json& p : curve["points"]) {
    const Json &before = p["before"], &after = p["after"];
    std::cout << fmt::format("  {:>12} {:>10} {:>10} {:>10} {:>10} {:>9}\n", size_of_point(p), micro(before["time_s"]),
                             micro(after["time_s"]), giga(before[key]), giga(after[key]),
                             signed_percent(after["time_s"].get<double>() / before["time_s"].get<double>() - 1));
  }
}

/// Of all points, each once.
Json warnings_of(const Json& points) {
  Json all = Json::array();
  for (const Json& point : points) {
    const Json& answer = point.contains("after") ? point["after"] : point;
    for (const Json& warning : answer.value("warnings", Json::array()))
      if (std::find(all.begin(), all.end(), warning) == all.end()) all.push_back(warning);
  }
  return all;
}

}  // namespace

Json curve_of(const std::vector<double>& sizes, const std::vector<Json>& answers) {
  Json points = Json::array();
  double sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    points.push_back({{"size_B", static_cast<std::int64_t>(sizes[i])}});
    points.back().update(answers[i]);
    if (!answers[i].contains("after")) sum += answers[i][rate_key(answers[i])].get<double>();
  }
  const bool both = answers.front().contains("after");
  const Json& first = both ? answers.front()["after"] : answers.front();
  Json curve{{"kind", "curve"}, {"of", first["kind"]}};
  if (!both) curve["average_" + rate_key(first)] = sum / static_cast<double>(sizes.size());
  curve["warnings"] = warnings_of(points);
  curve["points"] = std::move(points);
  return curve;
}

void print_curve(const Json& curve) {
  if (curve["points"].front().contains("after"))
    print_both(curve);
  else if (curve["of"] == "collective")
    print_collectives(curve);
  else
    print_copies(curve);
  print_warnings(curve);
}

}  // namespace linkcast::cli
