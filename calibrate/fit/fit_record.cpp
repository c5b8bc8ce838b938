// What a fit hands on: how well it explains its own data, and the file that it writes.
#include <algorithm>
#include <cmath>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/message_fit.hpp"

namespace linkcast {
namespace {

// Bounds of the size ranges in which scatter is reported: launch-bound, in between, bandwidth-bound.
// source: P100-DGX-1 sweep, flat up to 16 KiB, within 10 % of the asymptote from 4 MiB.
constexpr double kSmallTo_B = 16384;
constexpr double kMediumTo_B = 4194304;

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
  std::map<std::pair<std::string, int>, std::vector<double>> logs;
  std::map<std::pair<std::string, int>, double> precisions;
  for (const Sample& s : result.samples) {
    const double modelled = is_message(s) ? message_time(result.calibration, s.transport, s.size_B) : simulate(s);
    errors[s.transport + (s.both ? ", both ways" : "")].push_back(std::abs(modelled - s.time_s) / s.time_s);
    if (s.both) continue;
    const int range = s.size_B <= kSmallTo_B ? 0 : s.size_B <= kMediumTo_B ? 1 : 2;
    logs[{s.transport, range}].push_back(std::log(s.time_s / modelled));
    double& precision = precisions[{s.transport, range}];
    precision = std::max(precision, s.precision);
  }
  for (const auto& [transport, list] : errors)
    result.quality.push_back({transport, static_cast<int>(list.size()), median(list), quantile(list, 0.95)});
  for (const auto& [key, list] : logs) {
    double squares = 0;
    for (const double value : list) squares += value * value;
    const double rms = std::sqrt(squares / static_cast<double>(list.size()));
    // 90 % of the samples within 1.645 sigma, whatever the shape of the tails.
    std::vector<double> sizes;
    for (const double value : list) sizes.push_back(std::abs(value));
    const double repeated = std::min(quantile(sizes, 0.9) / 1.645, rms);  // source: normal distribution, 0.95 quantile
    const double sigma = std::hypot(repeated, precisions[key]);
    const double from = key.second == 0 ? 0 : key.second == 1 ? kSmallTo_B : kMediumTo_B;
    const double to = key.second == 0 ? kSmallTo_B : key.second == 1 ? kMediumTo_B : result.calibration.valid_to_B;
    result.calibration.scatter.push_back({key.first, from, to, sigma, static_cast<int>(list.size())});
  }
}

Json to_json(const FitResult& result) {
  const Calibration& c = result.calibration;
  Json parameters = Json::object(), scatter = Json::array(), quality = Json::array(), from = Json::array();
  for (const auto& [name, p] : c.parameters)
    parameters[name] = {{"value", p.value}, {"stderr", p.stderr_}, {"unit", p.unit}, {"provenance", p.provenance}};
  for (const Scatter& s : c.scatter)
    scatter.push_back({{"transport", s.transport},
                       {"from_B", s.from_B},
                       {"to_B", s.to_B},
                       {"sigma_log", s.sigma_log},
                       {"samples", s.samples}});
  for (const FitQuality& q : result.quality)
    quality.push_back({{"transport", q.transport},
                       {"samples", q.samples},
                       {"median_error", q.median_error},
                       {"p95_error", q.p95_error}});
  for (const SourceFile& f : c.from) from.push_back({{"path", f.path}, {"sha256", f.sha256}});
  Json fit = {{"method", "robust least squares on relative residuals; pieces by BIC"},
              {"quality_on_fitted_data", quality},
              {"undetermined", result.undetermined},
              {"bootstrap", {{"replicas", result.bootstrap.replicas}, {"failed", result.bootstrap.failed}}},
              {"standard_errors", standard_errors(result)},
              {"classes", to_json(result.classes)},
              {"suspicious", to_json(result.suspicious, kMostSuspicious)}};
  return {{"schema", "calibration/1"},
          {"name", c.name},
          {"topology", c.topology},
          {"default_library", c.default_library},
          {"parameters", parameters},
          {"valid_for", {{"from_B", c.valid_from_B}, {"to_B", c.valid_to_B}}},
          {"scatter", scatter},
          {"fit", fit},
          {"from", from}};
}

}  // namespace linkcast
