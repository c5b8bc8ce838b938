#include "calibrate/fit/residuals.hpp"

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

}  // namespace linkcast::fit
