// What the memory of a CPU takes from several GPUs at once: copies to it, from it and both that start together, by copy
// engines. Less than their cables carry alone is the memory's limit; else nothing is known of it.
#include <cmath>
#include <map>
#include <optional>

#include "calibrate/fit/fit_context.hpp"
#include "sim/records/host_pattern.hpp"

namespace linkcast::fit {
namespace {

/// The only CPU next to the GPUs of these copies; nullopt: there are several.
std::optional<int> cpu_of(const Platform& wires, const MeasuredFlows& group) {
  std::optional<int> cpu;
  for (const MeasuredFlows::Flow& flow : group.flows) {
    const auto gpu = wires.topology().find(flow.source == "host" ? flow.target : flow.source);
    if (!gpu) return std::nullopt;
    if (cpu && *cpu != wires.socket_of(*gpu)) return std::nullopt;
    cpu = wires.socket_of(*gpu);
  }
  return cpu;
}

/// What the cables of these copies carry with nothing else going on, bytes/s.
double cables_Bps(const FitContext& context, const MeasuredFlows& group) {
  const Platform& wires = *context.wires;
  double sum = 0;
  for (const MeasuredFlows::Flow& flow : group.flows) {
    const bool up = flow.target == "host";
    const int gpu = *wires.topology().find(up ? flow.source : flow.target);
    const int link = up ? wires.to_host(gpu).links.front() : wires.from_host(gpu).links.back();
    const Cable& cable =
        wires.topology().cables[static_cast<std::size_t>(wires.links()[static_cast<std::size_t>(link)].cable)];
    const ParameterKey both = key::cable_duplex(cable.kind),
                       one = (up ? key::cable_to_host : key::cable_from_host)(cable.kind);
    if (!context.has(one)) return 0;
    const bool duplex = host_pattern(group) == HostPattern::kBoth && context.has(both);
    sum += duplex ? context.value(both) / 2 : context.value(one);
  }
  return sum;
}

/// Rates of all copies of a pattern together, by the file that they are from.
using Rates = std::map<std::string, std::vector<double>>;

/// The median, with what files differ by: hosts of one kind differ more than the repetitions on one.
void set_limit(FitContext& context, const ParameterKey& key, const Rates& files) {
  std::vector<double> all, medians;
  for (const auto& [file, rates] : files) {
    all.insert(all.end(), rates.begin(), rates.end());
    medians.push_back(median(rates));
  }
  const MedianEstimate estimate = estimate_median(all);
  double squares = 0;
  for (const double one : medians) squares += (one - estimate.value) * (one - estimate.value);
  const auto count = static_cast<double>(medians.size());
  // The next host is one more draw. source of that of a single file: four occasions on H200 differ by 3 to 7 %
  constexpr double kOtherHost = 0.05;
  const double hosts =
      medians.size() > 1 ? std::sqrt(squares / (count - 1) * (1 + 1 / count)) : kOtherHost * estimate.value;
  context.set(key, estimate.value, std::hypot(estimate.stderr_, hosts));
}

}  // namespace

void fit_host_memory(FitContext& context, const std::vector<Measurement>& measurements) {
  const std::map<HostPattern, ParameterKey> keys = {{HostPattern::kWrite, key::host_write()},
                                                    {HostPattern::kRead, key::host_read()},
                                                    {HostPattern::kBoth, key::host_both()}};
  std::map<HostPattern, Rates> found;
  for (const Measurement& m : measurements)
    for (const MeasuredFlows& group : m.flows) {
      if (!shows_host_memory(group) || !cpu_of(*context.wires, group)) continue;
      const double alone = cables_Bps(context, group);
      double bytes = 0;
      for (const MeasuredFlows::Flow& flow : group.flows) bytes += flow.size_B;
      if (bytes / median(group.time_s) >= (1 - kDistinct) * alone) continue;
      for (const double time : group.time_s) found[host_pattern(group)][m.path].push_back(bytes / time);
    }
  for (const auto& [pattern, files] : found) set_limit(context, keys.at(pattern), files);
}

}  // namespace linkcast::fit
