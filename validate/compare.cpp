#include "validate/compare.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <sstream>

#include "sim/forecast/query.hpp"

namespace linkcast {
namespace {

constexpr double kSmall_B = 4096, kLarge_B = 1048576;  // start-up decides below, links above, both in between
constexpr std::size_t kWorst = 5, kUnanswered = 5;     // lines worth reading
constexpr double kP95 = 0.95;

int size_class(double size_B) { return size_B < kSmall_B ? 0 : size_B < kLarge_B ? 1 : 2; }
const char* size_text(int size_class) {
  constexpr const char* kTexts[] = {"below 4 KiB", "4 KiB to 1 MiB", "1 MiB and above"};
  return kTexts[size_class];
}

/// Smallest value that at least a share of the sorted values does not exceed.
double quantile(const std::vector<double>& sorted, double share) {
  const auto place = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(place, 1) - 1];
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// "host" is the memory of the other device's own socket.
std::string device_of(const Platform& platform, const std::string& id, const std::string& other) {
  if (id != "host") return id;
  const auto device = platform.topology().find(other);
  const int socket = device ? platform.socket_of(*device) : -1;
  return socket < 0 ? id : platform.topology().devices[static_cast<std::size_t>(socket)].id;
}

Json query_of(const Platform& platform, const std::string& platform_id, const MeasuredPoint& point) {
  Json query{{"platform", platform_id},
             {"kind", "p2p"},
             {"src", device_of(platform, point.source, point.target)},
             {"dst", device_of(platform, point.target, point.source)},
             {"size_B", point.size_B},
             {"transport", point.transport}};
  if (!point.via.empty()) query["via"] = point.via;
  if (!point.direction.empty()) query["direction"] = point.direction;
  if (point.bidirectional) query["bidirectional"] = true;
  return query;
}

/// A transport without parameters of its own (a relay is two peer copies) is predicted even where the file was used.
/// Peer copies determine the rates of cables, even if they determine no start-up.
bool has_parameters(const Calibration& calibration, const std::string& transport) {
  const std::string own = "transport." + transport + ".", read = "transport." + transport + "_read.";
  return std::any_of(calibration.parameters.begin(), calibration.parameters.end(), [&](const auto& item) {
    const bool rate = item.first.rfind("cable.", 0) == 0 && item.second.provenance == "fitted";
    return item.first.rfind(own, 0) == 0 || item.first.rfind(read, 0) == 0 || (transport == "peer" && rate);
  });
}

using GroupKey = std::pair<std::string, int>;

CompareGroup summarise(const GroupKey& key, const std::vector<ComparedPoint>& points, const CompareLimits& limits) {
  std::vector<double> errors;
  int inside = 0;
  for (const ComparedPoint& p : points) {
    errors.push_back(std::abs(p.error()));
    inside += p.measured_s >= p.low_s && p.measured_s <= p.high_s ? 1 : 0;
  }
  std::sort(errors.begin(), errors.end());
  CompareGroup group;
  group.transport = key.first;
  group.sizes = size_text(key.second);
  group.points = static_cast<int>(points.size());
  group.median_error = median(errors);
  group.p95_error = quantile(errors, kP95);
  group.in_interval = static_cast<double>(inside) / static_cast<double>(points.size());
  group.within_limits = group.median_error <= limits.median.value_or(group.median_error) &&
                        group.p95_error <= limits.p95.value_or(group.p95_error);
  return group;
}

void keep_worst(std::vector<ComparedPoint>& worst, const std::vector<ComparedPoint>& points) {
  worst.insert(worst.end(), points.begin(), points.end());
  std::stable_sort(worst.begin(), worst.end(), [](const ComparedPoint& a, const ComparedPoint& b) {
    return std::abs(a.error()) > std::abs(b.error());
  });
  if (worst.size() > kWorst) worst.resize(kWorst);
}

std::string percent(double share) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << 100 * share << " %";
  return out.str();
}

std::string ends_of(const MeasuredPoint& point) {
  return point.source + (point.bidirectional ? " <-> " : " -> ") + point.target +
         (point.via.empty() ? "" : " via " + point.via);
}

}  // namespace

bool Comparison::within_limits() const {
  return unanswered.empty() &&
         std::all_of(groups.begin(), groups.end(), [](const CompareGroup& group) { return group.within_limits; });
}

Comparison compare(Catalogue& catalogue, const Measurement& measurement, const CompareLimits& limits) {
  const Platform& platform = catalogue.platform(measurement.topology);
  Comparison comparison;
  comparison.file = measurement.path;
  comparison.sha256 = measurement.sha256;
  comparison.platform = measurement.topology;
  const auto& from = platform.calibration().from;
  comparison.fitted =
      std::any_of(from.begin(), from.end(), [&](const SourceFile& file) { return file.sha256 == measurement.sha256; });
  std::map<GroupKey, std::vector<ComparedPoint>> groups;
  for (const MeasuredPoint& point : measurement.points) {
    const Json result = answer(catalogue, query_of(platform, measurement.topology, point));
    if (result.contains("error")) {
      comparison.unanswered.push_back(result["error"].get<std::string>());
      continue;
    }
    groups[{point.transport, size_class(point.size_B)}].push_back(
        {point, median(point.time_s), result.at("time_s").get<double>(), result.at("time_low_s").get<double>(),
         result.at("time_high_s").get<double>()});
  }
  for (const auto& [key, points] : groups) {
    comparison.groups.push_back(summarise(key, points, limits));
    comparison.groups.back().fitted = comparison.fitted && has_parameters(platform.calibration(), key.first);
    keep_worst(comparison.worst, points);
  }
  return comparison;
}

Json to_json(const Comparison& comparison) {
  Json groups = Json::array(), worst = Json::array();
  for (const CompareGroup& group : comparison.groups)
    groups.push_back({{"transport", group.transport},
                      {"sizes", group.sizes},
                      {"points", group.points},
                      {"median_abs_rel_error", group.median_error},
                      {"p95_abs_rel_error", group.p95_error},
                      {"share_in_interval", group.in_interval},
                      {"fitted", group.fitted},
                      {"within_limits", group.within_limits}});
  for (const ComparedPoint& p : comparison.worst)
    worst.push_back({{"transport", p.point.transport},
                     {"src", p.point.source},
                     {"dst", p.point.target},
                     {"via", p.point.via},
                     {"bidirectional", p.point.bidirectional},
                     {"size_B", p.point.size_B},
                     {"measured_s", p.measured_s},
                     {"predicted_s", p.predicted_s},
                     {"rel_error", p.error()}});
  return {{"file", comparison.file},
          {"sha256", comparison.sha256},
          {"platform", comparison.platform},
          {"fitted", comparison.fitted},
          {"groups", groups},
          {"worst", worst},
          {"unanswered", comparison.unanswered},
          {"within_limits", comparison.within_limits()}};
}

std::string to_table(const Comparison& comparison) {
  std::ostringstream out;
  out << comparison.file << " against platform " << comparison.platform << '\n';
  out << std::left << std::setw(12) << "transport" << std::setw(18) << "sizes" << std::right << std::setw(8) << "points"
      << std::setw(12) << "median" << std::setw(12) << "p95" << std::setw(14) << "in interval"
      << "  evidence\n";
  for (const CompareGroup& group : comparison.groups)
    out << std::left << std::setw(12) << group.transport << std::setw(18) << group.sizes << std::right << std::setw(8)
        << group.points << std::setw(12) << percent(group.median_error) << std::setw(12) << percent(group.p95_error)
        << std::setw(14) << percent(group.in_interval) << (group.fitted ? "  fitted" : "  held out")
        << (group.within_limits ? "" : ", over the limit") << '\n';
  for (const ComparedPoint& p : comparison.worst)
    out << "worst: " << p.point.transport << ' ' << ends_of(p.point) << ", " << to_text(Bytes{p.point.size_B})
        << ": measured " << to_text(Seconds{p.measured_s}) << ", predicted " << to_text(Seconds{p.predicted_s}) << " ("
        << (p.error() > 0 ? "+" : "") << percent(p.error()) << ")\n";
  for (std::size_t i = 0; i < std::min(comparison.unanswered.size(), kUnanswered); ++i)
    out << "not predicted: " << comparison.unanswered[i] << '\n';
  if (comparison.unanswered.size() > kUnanswered)
    out << "not predicted: " << comparison.unanswered.size() - kUnanswered << " more points\n";
  return out.str();
}

}  // namespace linkcast
