#include "sim/forecast/collective_result.hpp"

#include <set>

#include "sim/forecast/verdict.hpp"

namespace linkcast {
namespace {

// Beside latency and rates: what the model of rings and messages leaves out. source: six operations on 2 to 4 H200
// (nccl_ops of occasion 20261121a, never fitted): 90 % of the points lie within 19 %
constexpr double kCollectiveError = 0.11;

Json channels_json(const Communicator& communicator) {
  Json channels = Json::array();
  for (const Channel& channel : communicator.channels) channels.push_back(channel.order);
  return channels;
}

}  // namespace

Json bottleneck_json(const Platform& platform, const std::vector<std::vector<Hop>>& hops,
                     const std::vector<int>& limited_by) {
  std::set<std::string> ids;
  for (std::size_t way = 0; way < limited_by.size(); ++way) {
    const int limit = limited_by[way];
    if (limit != kOwnCap) {
      ids.insert(platform.constraints()[static_cast<std::size_t>(limit)].id);
      continue;
    }
    for (const Hop& hop : hops.at(way)) {
      if (hop.kind != HopKind::kHostMemory) continue;
      const StagedRoute route = staged_route(platform, platform.gpu(hop.from), platform.gpu(hop.to));
      for (const auto* leg : {&route.up, &route.down})
        for (const int link : *leg) ids.insert(platform.constraints()[static_cast<std::size_t>(link)].id);
    }
  }
  return ids;
}

Json warnings_of(const Job& job, const Run& run) {
  Json warnings = Json::array();
  if (!run.cost.measured)
    warnings.push_back("base and hop latencies are " + job.communicator.library + "'s assumptions, not measured on " +
                       job.platform.topology().name);
  std::set<std::string> nominal;
  for (const int limit : run.limited_by)
    if (limit != kOwnCap && !job.platform.constraints()[static_cast<std::size_t>(limit)].capacity.calibrated)
      nominal.insert(job.platform.constraints()[static_cast<std::size_t>(limit)].id);
  for (const std::string& id : nominal) warnings.push_back("the rate of " + id + " is nominal, not calibrated");
  if (job.communicator.fallback) warnings.push_back(job.communicator.why);
  return warnings;
}

Interval interval_of(const Run& run) {
  Uncertainty uncertainty;
  uncertainty.add(run.cost.error_s / run.time_s());
  uncertainty.add(kCollectiveError);
  return uncertainty.around(run.time_s());
}

Json result_json(const Job& job, const Run& run) {
  const double time = run.time_s();
  Json out;
  put_interval(out, time, interval_of(run));
  out["latency_s"] = run.latency_s;
  out["algbw_Bps"] = job.size_B / time;
  out["busbw_Bps"] = job.size_B / time * job.op.bus_factor(job.ranks());
  out["library"] = job.communicator.library;
  out["algorithm"] = run.taken.algorithm;
  out["protocol"] = run.taken.protocol;
  out["channels"] = channels_json(job.communicator);
  out["blocks"] = run.taken.blocks;
  out["channel_bandwidth_Bps"] = run.busiest_B / run.flow_s;
  out["path_class"] = job.communicator.path_class;
  out["fallback"] = job.communicator.fallback;
  out["bottleneck"] = bottleneck_json(job.platform, run.hops, run.limited_by);
  out["warnings"] = warnings_of(job, run);
  return out;
}

}  // namespace linkcast
