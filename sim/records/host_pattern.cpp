#include "sim/records/host_pattern.hpp"

#include <algorithm>
#include <set>

namespace linkcast {
namespace {

// source: 4 H200 of one host, calibrate/data/hgx-h200/*-host_copy.json: 16 MiB of each GPU are written 4 to 9 % faster
// than 32 MiB and more, which go at one rate
constexpr double kBeyondCaches_B = 33554432;
// Sizes whose bytes cost nothing beside a step, and those beside which steps cost nothing. source: H200 without peer
// access, all_reduce of 8 B and 512 B differ by half a hop, 128 MiB take 250 times as long as the steps
constexpr double kSmallest_B = 1024, kPlenty_B = 134217728;

}  // namespace

HostPattern host_pattern(const MeasuredFlows& group) {
  std::set<std::string> gpus;
  bool writes = false, reads = false;
  for (const MeasuredFlows::Flow& flow : group.flows) {
    if ((flow.source == "host") == (flow.target == "host")) return HostPattern::kNone;
    (flow.target == "host" ? writes : reads) = true;
    gpus.insert(flow.target == "host" ? flow.source : flow.target);
  }
  if (gpus.size() < 2) return HostPattern::kNone;
  return writes && reads ? HostPattern::kBoth : writes ? HostPattern::kWrite : HostPattern::kRead;
}

bool shows_host_memory(const MeasuredFlows& group) {
  return group.engine == CopyUnit::kCopyEngine && host_pattern(group) != HostPattern::kNone &&
         std::all_of(group.flows.begin(), group.flows.end(),
                     [](const MeasuredFlows::Flow& flow) { return flow.size_B >= kBeyondCaches_B; });
}

bool shows_host_path(const Measurement& measurement, const MeasuredCollective& c) {
  const bool ring = c.op == "all_reduce" || c.op == "all_gather" || c.op == "reduce_scatter";
  return !measurement.peer_access && ring && c.gpus.size() == 2 && c.nodes == 1 && c.with.empty() && c.channels == 0 &&
         (c.size_B <= kSmallest_B || c.size_B >= kPlenty_B);
}

}  // namespace linkcast
