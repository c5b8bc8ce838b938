#include "sim/replay/critical_path.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace linkcast::replay {
namespace {

// Share of the critical path below which faster links hardly matter: all that they could gain. source: ours
constexpr double kHardly = 0.1;
constexpr double kPercent = 100;

std::string percent(double share) { return fmt::format("{} %", std::lround(kPercent * share)); }

}  // namespace

std::string bound_of(const CriticalPath& path) {
  const double all_s = std::accumulate(path.seconds.begin(), path.seconds.end(), 0.0);
  if (all_s <= 0) return "";
  const double host = path.seconds[CriticalPath::kHost] / all_s;
  const double links = (path.seconds[CriticalPath::kNetwork] + path.seconds[CriticalPath::kCopy]) / all_s;
  const double device = 1 - host - links;
  const std::string gain = "gain at most " + percent(links);
  const std::string faster = "faster links " + std::string(links < kHardly ? "hardly matter: they " : "") + gain;
  if (links >= host && links >= device) return "link-bound: " + faster;
  return (host >= device ? "host-bound: CPUs are late, " : "device-bound: GPUs compute, ") + faster;
}

}  // namespace linkcast::replay
