#include "validate/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <sstream>
#include <tuple>

#include "sim/base/limits.hpp"
#include "sim/base/statistics.hpp"
#include "sim/machine/platform.hpp"
#include "sim/query/query.hpp"
#include "sim/records/host_pattern.hpp"
#include "sim/records/measurement.hpp"
#include "sim/records/parameters.hpp"
#include "validate/measured_query.hpp"

namespace linkcast::validate {
namespace {

/// Whether these GPUs have a direct way that the measurement was told not to take.
bool without_peers(const Platform& platform, const Measurement& measurement, const MeasuredCollective& c) {
  if (measurement.peer_access || c.gpus.size() < 2) return false;
  const auto known = [&](int gpu) { return gpu >= 0 && gpu < platform.gpu_count(); };
  return known(c.gpus[0]) && known(c.gpus[1]) &&
         platform.peer_route(platform.gpu(c.gpus[0]), platform.gpu(c.gpus[1])).has_value();
}

constexpr double kSmall_B = 4096, kLarge_B = 1048576;  // start-up decides below, links above, both in between
constexpr std::size_t kWorst = 5, kUnanswered = 5;     // lines worth reading
constexpr double kP95 = 0.95;

int size_class(double size_B) { return size_B < kSmall_B ? 0 : size_B < kLarge_B ? 1 : 2; }
const char* size_text(int size_class) {
  constexpr const char* kTexts[] = {"below 4 KiB", "4 KiB to 1 MiB", "1 MiB and above"};
  return kTexts[size_class];
}

/// "host" is the memory of the other device's own socket.
std::string device_of(const Platform& platform, const std::string& id, const std::string& other) {
  if (id != kHostMemory) return id;
  const auto device = platform.topology().find(other);
  const int socket = device ? platform.socket_of(*device) : -1;
  return socket < 0 ? id : platform.topology().devices[static_cast<std::size_t>(socket)].id;
}

/// Between processes: ends of two nodes, or of one; of MPI the kind follows from the ends.
Json message_query(const Platform& platform, const std::string& platform_id, const Measurement& measurement,
                   const MeasuredPoint& point) {
  const std::string there = point.between_nodes ? "node1/" : "node0/";
  Json query{{"platform", platform_id},
             {"kind", "p2p"},
             {"src", "node0/" + device_of(platform, point.source, point.target)},
             {"dst", there + device_of(platform, point.target, point.source)},
             {"size_B", point.size_B}};
  query["transport"] = point.transport;
  if (point.bidirectional) query["bidirectional"] = true;
  if (measurement.timing == CopyTiming::kBackToBack) query["timing"] = measurement.timing;
  return query;
}

Json query_of(const Platform& platform, const std::string& platform_id, const Measurement& measurement,
              const MeasuredPoint& point) {
  if (is_message(point.transport)) return message_query(platform, platform_id, measurement, point);
  Json query{{"platform", platform_id},
             {"kind", "p2p"},
             {"src", device_of(platform, point.source, point.target)},
             {"dst", device_of(platform, point.target, point.source)},
             {"size_B", point.size_B},
             {"transport", point.transport},
             {"timing", measurement.timing}};
  if (!point.via.empty()) query["via"] = point.via;
  if (!point.direction.empty() && (point.transport == Carrier::kPeer || point.transport == Carrier::kRelay))
    query["direction"] = point.direction;
  if (point.bidirectional) query["bidirectional"] = true;
  if (point.engine != CopyUnit::kCopyEngine) query["engine"] = point.engine;
  if (point.pageable) query["pageable"] = true;
  if (point.chunk_B > 0) query["chunk_B"] = point.chunk_B;
  return query;
}

Json query_of(const Platform& platform, const std::string& platform_id, const Measurement& measurement,
              const MeasuredFlows& group) {
  Json flows = Json::array();
  for (const auto& f : group.flows)
    flows.push_back({device_of(platform, f.source, f.target), device_of(platform, f.target, f.source), f.size_B});
  Json query{{"platform", platform_id}, {"kind", "flows"}, {"flows", flows}, {"timing", measurement.timing}};
  if (group.engine != CopyUnit::kCopyEngine) query["engine"] = group.engine;
  if (!group.direction.empty()) query["direction"] = group.direction;
  return query;
}

Json query_of(const Platform& platform, const std::string& platform_id, const Measurement& measurement,
              const MeasuredCollective& c) {
  Json query = collective_query(platform_id, measurement, c);
  if (without_peers(platform, measurement, c)) query["edits"] = {"disable p2p"};
  return query;
}

/// The calibration's name for the transport of a point, without the part that tells reads from writes.
std::string model_of(const MeasuredPoint& point) {
  const std::string unit = point.engine == CopyUnit::kSm ? "_sm" : "";
  if (point.transport != Carrier::kHost) return point.transport.name() + unit;
  return (point.source == kHostMemory || point.source.starts_with("cpu") ? "h2d" : "d2h") + unit;
}

/// A transport without parameters of its own (a relay is two peer copies) is predicted even where the file was used;
/// so are both directions between peers at once and relays in chunks, which never enter a fit, and what another machine
/// lent although the file has it (calibrate fit --only). Peer and host copies determine the rates of cables, even if
/// they determine no start-up.
bool determines(const Calibration& calibration, const MeasuredPoint& point) {
  if (is_message(point.transport))  // a file of messages that was fitted determines their curves, as far as these reach
    return !point.bidirectional && !beyond_curve(calibration, point);
  if ((point.bidirectional && !crosses_host(point)) || point.chunk_B > 0) return false;
  const std::string own = model_of(point);
  return std::any_of(calibration.parameters.begin(), calibration.parameters.end(), [&](const auto& item) {
    const ParameterName name(item.first);
    const bool rate = name.of() == ParameterOf::kCable && item.second.provenance == "fitted";
    const bool here = !item.second.inherited();
    return (here && (name.transport() == own || name.transport() == own + "_read")) ||
           (rate && point.engine == CopyUnit::kCopyEngine &&
            (point.transport == Carrier::kPeer || point.transport == Carrier::kHost));
  });
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    if (!word.empty()) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string variant_of(const MeasuredPoint& p) {
  const bool host = p.transport == Carrier::kHost;
  if (is_message(p.transport))
    return joined(
        {p.between_nodes ? "between nodes" : "in a node", p.source.substr(0, 3), p.bidirectional ? "both ways" : ""});
  return joined({p.engine,
                 host                             ? model_of(p)
                 : p.transport == Carrier::kLocal ? ""
                                                  : p.direction.name(),
                 p.pageable ? "pageable" : "", p.chunk_B > 0 ? "in chunks of " + to_text(Bytes{p.chunk_B}) : "",
                 p.bidirectional ? "both ways" : ""});
}

using GroupKey = std::tuple<std::string, std::string, int>;  // transport, variant, size class

CompareGroup summarise(const std::vector<ComparedPoint>& points, const CompareLimits& limits) {
  std::vector<double> errors;
  int inside = 0;
  for (const ComparedPoint& p : points) {
    errors.push_back(std::abs(p.error()));
    inside += p.measured_s >= p.low_s && p.measured_s <= p.high_s ? 1 : 0;
  }
  CompareGroup group;
  group.transport = points.front().transport;
  group.variant = points.front().variant;
  group.sizes = size_text(size_class(points.front().size_B));
  group.points = static_cast<int>(points.size());
  group.median_error = median(errors);
  group.p95_error = nearest_rank(errors, kP95);
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

ComparedPoint described(const Calibration& calibration, const Measurement&, const MeasuredPoint& point) {
  return {point.transport,     variant_of(point), ends_of(point), point.size_B, determines(calibration, point),
          median(point.time_s)};
}

ComparedPoint described(const Calibration& calibration, const Measurement&, const MeasuredFlows& group) {
  double largest = 0;
  for (const auto& flow : group.flows) largest = std::max(largest, flow.size_B);
  const std::string count = fmt::format("x{}", group.flows.size());
  return {"flows", joined({group.pattern, count, group.engine, group.direction}),  count,
          largest, shows_host_memory(group) && calibration.find(key::host_both()), median(group.time_s)};
}

ComparedPoint described(const Calibration&, const Measurement& measurement, const MeasuredCollective& c) {
  const std::string nodes = c.nodes > 1 ? fmt::format(" on {} nodes", c.nodes) : "";
  const std::string count = fmt::format("x{}{}", c.gpus.size() * static_cast<std::size_t>(c.nodes), nodes);
  const bool fitted = c.with.empty() || shows_host_path(measurement, c);  // else nothing is learned from it
  return {c.op, joined({count, c.algorithm, c.protocol}), count, c.size_B, fitted, median(c.time_s)};
}

// A host may be so much slower than its forecast. source: seven of one kind differ by 1.65 (docs/launch.md)
constexpr double kSlowHost = 2;

void add_host(catalogue::Catalogue&, const catalogue::MachinePtr&, const Json&, const Json&, const MeasuredPoint&,
              const Measurement&, ComparedPoint&) {}
void add_host(catalogue::Catalogue&, const catalogue::MachinePtr&, const Json&, const Json&, const MeasuredFlows&,
              const Measurement&, ComparedPoint&) {}
/// Whether the host may be what takes the time. Of an unknown issuer the interval reaches from none to the slowest.
void add_host(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine, const Json& query,
              const Json& result, const MeasuredCollective& c, const Measurement& measurement, ComparedPoint& point) {
  const auto may_limit = [](const Json& answer) {
    return answer.contains("host_s") && kSlowHost * answer["host_s"].get<double>() > answer["device_s"].get<double>();
  };
  point.host = may_limit(result);
  if (!issuer_of(measurement, c).empty() || !result.contains("launch")) return;
  Json other = query;
  other["launch"] = "pytorch";
  const Json slowest = query::answer(catalogue, other, machine);
  other["launch"] = "graph";
  const Json none = query::answer(catalogue, other, machine);
  if (slowest.contains("error") || none.contains("error")) return;
  point.host = may_limit(slowest);
  point.low_s = std::min(point.low_s, none.at("time_low_s").get<double>());
  point.high_s = std::max(point.high_s, slowest.at("time_high_s").get<double>());
}

/// Bytes that the answer's bandwidth counts.
double moved_by(const Json& result) {
  const char* rate = result.contains("busbw_Bps") ? "busbw_Bps" : "bandwidth_Bps";
  return result.value(rate, 0.0) * result.at("time_s").get<double>();
}

bool is_fitted(const Calibration& calibration, const Measurement& measurement) {
  return std::any_of(calibration.from.begin(), calibration.from.end(),
                     [&](const SourceFile& file) { return file.sha256 == measurement.sha256; });
}

}  // namespace

bool Comparison::within_limits() const {
  return unanswered.empty() &&
         std::all_of(groups.begin(), groups.end(), [](const CompareGroup& group) { return group.within_limits; });
}

Comparison compare(catalogue::Catalogue& catalogue, const Measurement& measurement, const CompareLimits& limits,
                   const catalogue::MachinePtr& given) {
  Comparison comparison;
  comparison.file = measurement.path;
  comparison.sha256 = measurement.sha256;
  const catalogue::MachinePtr machine = given ? given : catalogue.machine(measurement.topology);
  const Platform& platform = machine->platform();
  comparison.platform = machine->title();
  if (platform.topology().name != measurement.topology)
    comparison.note = "measured on topology " + measurement.topology + ", compared with " + platform.topology().name;
  comparison.fitted = is_fitted(platform.calibration(), measurement);
  const std::size_t all = measurement.points.size() + measurement.flows.size() + measurement.collectives.size();
  log::Work work(catalogue.progress(), "compare", "points", static_cast<std::int64_t>(all));
  work::Rounds rounds("validate", "points", static_cast<std::int64_t>(all));
  std::int64_t done = 0;
  const auto add = [&](const auto& measured) {
    rounds.done(done);
    work.advance(done++);
    Json result, query;
    try {
      query = query_of(platform, machine->name(), measurement, measured);
      result = query::answer(catalogue, query, machine);
    } catch (const InputError& error) {
      result["error"] = error.what();
    }
    if (result.contains("error")) {
      comparison.unanswered.push_back(result["error"].get<std::string>());
      return;
    }
    ComparedPoint point = described(platform.calibration(), measurement, measured);
    point.predicted_s = result.at("time_s").get<double>();
    point.low_s = result.at("time_low_s").get<double>();
    point.high_s = result.at("time_high_s").get<double>();
    add_host(catalogue, machine, query, result, measured, measurement, point);
    for (const Json& link : result.contains("route") ? result["route"] : result["bottleneck"])
      point.links.push_back(link.get<std::string>());
    point.moved_B = moved_by(result);
    point.query = std::move(query);
    comparison.points.push_back(std::move(point));
  };
  for (const MeasuredPoint& point : measurement.points) add(point);
  for (const MeasuredFlows& group : measurement.flows) add(group);
  for (const MeasuredCollective& collective : measurement.collectives) add(collective);

  if (comparison.points.empty() && comparison.unanswered.empty())
    comparison.unanswered.emplace_back("the file holds no copy, no flows and no collective");
  std::map<GroupKey, std::vector<ComparedPoint>> groups;
  std::vector<ComparedPoint> held_out;
  for (const ComparedPoint& p : comparison.points) {
    groups[{p.transport, p.variant, size_class(p.size_B)}].push_back(p);
    if (!(comparison.fitted && p.determined)) held_out.push_back(p);
  }
  for (const auto& [key, points] : groups) {
    comparison.groups.push_back(summarise(points, limits));
    comparison.groups.back().fitted = comparison.fitted && points.front().determined;
  }
  if (!held_out.empty()) comparison.held_out = summarise(held_out, {});
  keep_worst(comparison.worst, comparison.points);
  return comparison;
}

Json to_json(const CompareGroup& group) {
  return {{"transport", group.transport},
          {"variant", group.variant},
          {"sizes", group.sizes},
          {"points", group.points},
          {"median_abs_rel_error", group.median_error},
          {"p95_abs_rel_error", group.p95_error},
          {"share_in_interval", group.in_interval},
          {"fitted", group.fitted},
          {"within_limits", group.within_limits}};
}

Json to_json(const ComparedPoint& p) {
  return {{"transport", p.transport}, {"variant", p.variant},       {"ends", p.ends},
          {"size_B", p.size_B},       {"measured_s", p.measured_s}, {"predicted_s", p.predicted_s},
          {"low_s", p.low_s},         {"high_s", p.high_s},         {"rel_error", p.error()}};
}

Json to_json(const Comparison& comparison, bool points) {
  Json groups = Json::array(), worst = Json::array();
  for (const CompareGroup& group : comparison.groups) groups.push_back(to_json(group));
  for (const ComparedPoint& p : comparison.worst) worst.push_back(to_json(p));
  Json out{{"file", comparison.file},
           {"sha256", comparison.sha256},
           {"platform", comparison.platform},
           {"fitted", comparison.fitted},
           {"groups", groups},
           {"worst", worst},
           {"unanswered", comparison.unanswered},
           {"within_limits", comparison.within_limits()}};
  if (comparison.held_out.points > 0)
    out["held_out"] = {{"points", comparison.held_out.points},
                       {"median_abs_rel_error", comparison.held_out.median_error},
                       {"p95_abs_rel_error", comparison.held_out.p95_error},
                       {"share_in_interval", comparison.held_out.in_interval}};
  if (points) {
    out["points"] = Json::array();
    for (const ComparedPoint& p : comparison.points) {
      out["points"].push_back(to_json(p));
      out["points"].back()["held_out"] = !(comparison.fitted && p.determined);
    }
  }
  return out;
}

std::string to_table(const Comparison& comparison) {
  std::ostringstream out;
  out << comparison.file << " against platform " << comparison.platform << '\n';
  if (!comparison.note.empty()) out << "note: " << comparison.note << '\n';
  std::size_t width = 0, first_width = 9;  // of "transport"
  for (const CompareGroup& group : comparison.groups) {
    width = std::max(width, group.variant.size());
    first_width = std::max(first_width, group.transport.size());
  }
  const int first_column = static_cast<int>(first_width) + 1;
  const auto line = [&](const std::string& first, const std::string& variant, const std::string& sizes,
                        const CompareGroup& group) {
    out << std::left << std::setw(first_column) << first << std::setw(static_cast<int>(width) + 2) << variant
        << std::setw(18) << sizes << std::right << std::setw(6) << group.points << std::setw(10)
        << percent(group.median_error) << std::setw(10) << percent(group.p95_error) << std::setw(12)
        << percent(group.in_interval);
  };
  out << std::left << std::setw(first_column) << "transport" << std::setw(static_cast<int>(width) + 2) << ""
      << std::setw(18) << "sizes" << std::right << std::setw(6) << "points" << std::setw(10) << "median"
      << std::setw(10) << "p95" << std::setw(12) << "in interval"
      << "  evidence\n";
  for (const CompareGroup& group : comparison.groups) {
    line(group.transport, group.variant, group.sizes, group);
    out << (group.fitted ? "  fitted" : "  held out") << (group.within_limits ? "" : ", over the limit") << '\n';
  }
  if (comparison.held_out.points > 0) {
    line("all", "", "", comparison.held_out);
    out << "  held out\n";
  }
  for (const ComparedPoint& p : comparison.worst)
    out << "worst: " << p.transport << ' ' << joined({p.variant, p.ends.front() == 'x' ? "" : p.ends}) << ", "
        << to_text(Bytes{p.size_B}) << ": measured " << to_text(Seconds{p.measured_s}) << ", predicted "
        << to_text(Seconds{p.predicted_s}) << " (" << (p.error() > 0 ? "+" : "") << percent(p.error()) << ")\n";
  for (std::size_t i = 0; i < std::min(comparison.unanswered.size(), kUnanswered); ++i)
    out << "not predicted: " << comparison.unanswered[i] << '\n';
  if (comparison.unanswered.size() > kUnanswered)
    out << "not predicted: " << comparison.unanswered.size() - kUnanswered << " more points\n";
  return out.str();
}

}  // namespace linkcast::validate
