// What the memory of a CPU takes from several GPUs at once: copies to it, from it and both that start together, by copy
// engines. Less than their cables carry alone is the memory's limit; else nothing is known of it.
#include <cmath>
#include <map>
#include <optional>

#include "calibrate/fit/fit_context.hpp"
#include "sim/records/host_pattern.hpp"

namespace linkcast::fit {
// Costs of NCCL's kernels for hops through host memory, from two GPUs without peer access.
// Small ones, always in LL:     base + steps hop                          steps = 2 of all_reduce, else 1
// Large ones, always in Simple: bytes of a hop x (1/u + 1/d + (steps - 1)/x) / steps / share
// where u and d are what kernels store and load alone, x what they do each way at once (sim/plan/channel_flows.cpp).

namespace {

constexpr double kLarge_B = 1048576;  // source: ours, between the two sorts of shows_host_path()

int host_steps_of(const MeasuredCollective& c) { return c.op == NcclOp::kAllReduce ? 2 : 1; }

std::vector<MeasuredCollective> shown(const std::vector<Measurement>& measurements, bool large) {
  std::vector<MeasuredCollective> points;
  for (const Measurement& m : measurements)
    for (const MeasuredCollective& c : m.collectives)
      if (shows_host_path(m, c) && (c.size_B >= kLarge_B) == large) points.push_back(c);
  return points;
}

void fit_steps(FitContext& context, const std::vector<MeasuredCollective>& points) {
  std::vector<Observation> rows;
  std::map<int, int> sorts;
  for (const MeasuredCollective& c : points) {
    ++sorts[host_steps_of(c)];
    for (const double time : c.time_s) rows.push_back({{1, static_cast<double>(host_steps_of(c))}, time});
  }
  const ParameterKey base = key::host_base["LL"].of_all(kBenchFamily), hop = key::host_hop["LL"].of_all(kBenchFamily);
  if (sorts.size() < 2) {
    context.undetermined.push_back(base.name + " and " + std::string(hop.row->what) +
                                   ": small all_reduce and all_gather of two GPUs, NCCL_P2P_DISABLE=1");
    return;
  }
  const LinearFit fit = robust_fit(rows, {base.name, hop.name});
  context.set(base, fit.value[0], fit.stderr_[0]);
  context.set(hop, fit.value[1], fit.stderr_[1]);
}

/// Largest regime's rate of host copies by kernels; 0: not found.
double kernels_Bps(const FitContext& context, const std::string& transport) {
  double rate = 0;
  for (std::size_t k = 0; context.has(key::startup(transport, k)) || context.has(key::flat(transport, k)); ++k) {
    const ParameterKey here = key::range_bandwidth(transport, k);
    rate = context.has(here) ? context.value(here) : 0;
  }
  return rate;
}

void fit_share(FitContext& context, const std::vector<MeasuredCollective>& points) {
  const Platform& wires = *context.wires;
  std::vector<double> shares;
  for (const MeasuredCollective& c : points) {
    if (c.gpus[0] < 0 || c.gpus[0] >= wires.gpu_count()) continue;
    const int link = wires.to_host(wires.gpu(c.gpus[0])).links.front();
    const int cable = wires.links()[static_cast<std::size_t>(link)].cable;
    const ParameterKey both = key::cable_kernel_duplex(wires.topology().cables[static_cast<std::size_t>(cable)].kind);
    const double up = kernels_Bps(context, "d2h_sm"), down = kernels_Bps(context, "h2d_sm");
    if (!(up > 0 && down > 0) || !context.has(both)) continue;
    const double steps = host_steps_of(c), each = context.value(both) / 2;
    const double hop_B = c.size_B * steps / 2;  // source: 2 (n - 1) / n, or half of it, of n = 2
    const double bytes_s = hop_B * (1 / up + 1 / down + (steps - 1) / each) / steps;
    for (const double time : c.time_s) shares.push_back(bytes_s / time);
  }
  if (shares.empty()) return;
  const MedianEstimate share = estimate_median(shares);
  context.set(key::host_data_share.of_all(kBenchFamily), std::min(share.value, 1.0), share.stderr_);
}

}  // namespace

void fit_host_path(FitContext& context, const std::vector<Measurement>& measurements) {
  if (const auto small = shown(measurements, false); !small.empty()) fit_steps(context, small);
  if (const auto large = shown(measurements, true); !large.empty()) fit_share(context, large);
}

namespace {

/// The only CPU next to the GPUs of these copies; nullopt: there are several.
std::optional<int> cpu_of(const Platform& wires, const MeasuredFlows& group) {
  std::optional<int> cpu;
  for (const MeasuredFlows::Flow& flow : group.flows) {
    const auto gpu = wires.topology().find(flow.source == kHostMemory ? flow.target : flow.source);
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
    const bool up = flow.target == kHostMemory;
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
