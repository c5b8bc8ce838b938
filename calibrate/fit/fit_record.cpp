// What a fit hands on: how well it explains its own data, and the file that it writes.
#include "calibrate/fit/fit_record.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/message_fit.hpp"

namespace linkcast::fit {
namespace {

Json parameter_table(const FitResult& result) {
  Json table = Json::object();
  for (const auto& [name, p] : result.calibration.parameters) {
    table[name] = {{"value", p.value}, {"stderr", p.stderr_}, {"unit", p.unit}, {"provenance", p.provenance}};
    const auto covariance = result.covariance.find(name);
    if (covariance != result.covariance.end()) table[name]["covariance"] = covariance->second;
    const auto drawn = result.bootstrap.of.find(name);
    if (drawn == result.bootstrap.of.end()) continue;
    table[name]["bootstrap"] = drawn->second.stderr_;
    table[name]["replicas"] = drawn->second.replicas;
  }
  return table;
}

}  // namespace

Json residual_report(const FitResult& result, const Topology& topology,
                     const std::function<double(const Sample&)>& simulate) {
  const auto name = [&](int device) { return topology.devices[static_cast<std::size_t>(device)].id; };
  Json points = Json::array();
  for (std::size_t i = 0; i < result.samples.size();) {
    const Sample& s = result.samples[i];
    std::vector<double> times;
    for (; i < result.samples.size() && same_point(s, result.samples[i]); ++i)
      times.push_back(result.samples[i].time_s);
    const double measured = median(times);
    const double modelled = is_message(s) ? message_time(result.calibration, s.transport, s.size_B) : simulate(s);
    Json point = {{"transport", s.transport}, {"source", name(s.source)}, {"target", name(s.target)}};
    if (s.via >= 0) point["via"] = name(s.via);
    point.update({{"from_rest", s.single},
                  {"both_ways", s.both},
                  {"size_B", s.size_B},
                  {"repetitions", times.size()},
                  {"measured_s", measured},
                  {"modelled_s", modelled},
                  {"residual", measured / modelled - 1}});
    points.push_back(point);
  }
  return {{"schema", "residuals/1"},
          {"name", result.calibration.name},
          {"topology", result.calibration.topology},
          {"bootstrap", result.bootstrap.replicas},
          {"parameters", parameter_table(result)},
          {"points", points}};
}

namespace {

// Ends of the size ranges in which scatter is reported, the last one open. source: ours, a factor of 16 each; on H200
// the scatter of one transport differs by a factor of 10 between such ranges
constexpr std::array kRangeEnds_B = {1024.0, 16384.0, 262144.0, 4194304.0, 67108864.0};

std::size_t range_of(double size_B) {
  return static_cast<std::size_t>(std::lower_bound(kRangeEnds_B.begin(), kRangeEnds_B.end(), size_B) -
                                  kRangeEnds_B.begin());
}

constexpr std::size_t kMostSuspicious = 60;  // groups in the file, of one transport and size each

Json standard_errors(const FitResult& result) {
  Json errors = Json::object();
  for (const auto& [name, covariance] : result.covariance) {
    errors[name] = {{"covariance", covariance}};
    const auto drawn = result.bootstrap.of.find(name);
    if (drawn == result.bootstrap.of.end()) continue;
    errors[name]["bootstrap"] = drawn->second.stderr_;
    errors[name]["replicas"] = drawn->second.replicas;
  }
  return errors;
}

}  // namespace

void assess(FitResult& result, const std::function<double(const Sample&)>& simulate) {
  std::map<std::string, std::vector<double>> errors;
  std::map<std::pair<std::string, std::size_t>, std::vector<double>> logs;
  std::map<std::pair<std::string, std::size_t>, double> precisions;
  for (const Sample& s : result.samples) {
    const double modelled = is_message(s) ? message_time(result.calibration, s.transport, s.size_B) : simulate(s);
    errors[s.transport + (s.both ? ", both ways" : "")].push_back(std::abs(modelled - s.time_s) / s.time_s);
    const std::pair row{s.transport + (s.both ? kBidirectionalRow : ""), range_of(s.size_B)};
    logs[row].push_back(std::log(s.time_s / modelled));
    double& precision = precisions[row];
    precision = std::max(precision, s.precision);
  }
  for (const auto& [transport, list] : errors)
    result.quality.push_back({transport, static_cast<int>(list.size()), median(list), quantile(list, 0.95)});
  for (const auto& [key, list] : logs) {
    double squares = 0;
    for (const double value : list) squares += value * value;
    const double rms = std::sqrt(squares / static_cast<double>(list.size()));
    std::vector<double> sizes;
    for (const double value : list) sizes.push_back(std::abs(value));
    const double repeated = std::min(sigma_of_ninety_percent(sizes), rms);
    const double sigma = std::hypot(repeated, precisions[key]);
    const double from = key.second == 0 ? 0 : kRangeEnds_B[key.second - 1];
    const double to = key.second < kRangeEnds_B.size() ? kRangeEnds_B[key.second] : result.calibration.valid_to_B;
    result.calibration.scatter.push_back({key.first, from, to, sigma, static_cast<int>(list.size())});
  }
}

Json report_of(const FitResult& result) {
  Json quality = Json::array();
  for (const FitQuality& q : result.quality)
    quality.push_back({{"transport", q.transport},
                       {"samples", q.samples},
                       {"median_error", q.median_error},
                       {"p95_error", q.p95_error}});
  const bool measured = !result.covariance.empty();
  return {{"schema", "fit-report/1"},
          {"name", result.calibration.name},
          {"topology", result.calibration.topology},
          {"method", measured ? "robust least squares on relative residuals; pieces by BIC"
                              : "none: every parameter is inherited from other machines, nominal where none has it"},
          {"quality_on_fitted_data", quality},
          {"undetermined", result.undetermined},
          {"bootstrap", {{"replicas", result.bootstrap.replicas}, {"failed", result.bootstrap.failed}}},
          {"standard_errors", standard_errors(result)},
          {"classes", to_json(result.classes)},
          {"suspicious", to_json(result.suspicious, kMostSuspicious)}};
}

void check_report(const Json& json, const std::string& path) {
  ObjectReader r(json, path);
  r.schema("fit-report/1");
  for (const char* key : {"name", "topology", "method"}) static_cast<void>(r.required<std::string>(key));
  for (ObjectReader& q : r.objects("quality_on_fitted_data")) {
    static_cast<void>(q.required<std::string>("transport"));
    static_cast<void>(q.required<int>("samples"));
    for (const char* key : {"median_error", "p95_error"}) static_cast<void>(q.required<double>(key));
    q.finish();
  }
  static_cast<void>(r.required<std::vector<std::string>>("undetermined"));
  for (const char* key : {"bootstrap", "standard_errors"}) r.object(key);
  for (const char* key : {"classes", "suspicious"}) static_cast<void>(r.raw(key));
  r.finish();
}

Json to_json(const FitResult& result) {
  const Calibration& c = result.calibration;
  Json parameters = Json::object(), scatter = Json::array(), from = Json::array();
  for (const auto& [name, p] : c.parameters)
    parameters[name] = {{"value", p.value}, {"stderr", p.stderr_}, {"unit", p.unit}, {"provenance", p.provenance}};
  for (const Scatter& s : c.scatter) {
    scatter.push_back({{"transport", s.transport},
                       {"from_B", s.from_B},
                       {"to_B", s.to_B},
                       {"sigma_log", s.sigma_log},
                       {"samples", s.samples}});
    if (s.nodes > 0) scatter.back()["nodes"] = s.nodes;
    if (!s.operations.empty()) scatter.back()["operations"] = s.operations;
  }
  for (const SourceFile& f : c.from) from.push_back({{"path", f.path}, {"sha256", f.sha256}});
  Json record = {{"schema", "calibration/1"}, {"name", c.name},
                 {"topology", c.topology},    {"default_library", c.default_library},
                 {"parameters", parameters},  {"valid_for", {{"from_B", c.valid_from_B}, {"to_B", c.valid_to_B}}},
                 {"scatter", scatter},        {"from", from}};
  if (!c.notes.empty()) record["notes"] = c.notes;
  if (!c.wiring.is_null()) record["wiring"] = c.wiring;
  if (!c.correlation.names.empty())
    record["correlation"] = {{"names", c.correlation.names}, {"lower", c.correlation.lower}};
  return record;
}

}  // namespace linkcast::fit
