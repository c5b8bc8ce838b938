#include "sim/plan/mpi_costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/records/calibration.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::activities {
namespace {

// A kernel loads twice and stores once where a copy loads and stores once. source: counted
constexpr double kReducePerCopy = 2.0 / 3;
// Memory of a GPU whose copies inside it were never measured. source: assumed, a third of 1.6 TB/s of HBM2e
constexpr double kGpuReduce_Bps = 533e9;
constexpr double kGpuCopy_Bps = kGpuReduce_Bps / kReducePerCopy;
constexpr double kGpuReduceError = 0.5;  // source: assumed, no reduction of an MPI on a GPU was measured

// A copy that a process waits for. source: paper 001 (TPDS 2020), section 3.1.1: about 9 us between neighbours; host
// copies on Summit take 11 to 13 us
constexpr double kCopy_s = 9e-6, kCopySpread = 0.3;
// Pageable memory against the way's own rate, where it was not measured. source: models/params/hgx-h200.json, 18.5 of
// 55 GB/s down
constexpr double kPageableShare = 0.34, kShareSpread = 0.5;
constexpr double kMeasuredSpread = 0.2;  // source: assumed, buffers of a library against those of a benchmark

double asked(const Platform& node, const std::string& library, const LibraryRow& row) {
  return learned(node.library_parameters(), library, row).value;
}

/// Of the way of the first GPU to host memory.
double way_Bps(const Platform& node) {
  double rate = std::numeric_limits<double>::infinity();
  for (const int link : node.to_host(node.gpu(0)).links)
    rate = std::min(rate, node.constraints()[static_cast<std::size_t>(link)].capacity.value);
  return rate;
}

}  // namespace

MessageCosts message_costs(const Platform& node, const std::string& library, bool host) {
  MessageCosts costs;
  costs.post_s = asked(node, library, host ? key::host_post : key::gpu_post);
  if (!host) return costs;
  costs.eager_B = asked(node, library, key::host_eager);
  if (!node.transports().message("mpi_socket_host") && !node.transports().message("mpi_node_host"))
    costs.inside = {asked(node, library, key::inside_startup), asked(node, library, key::inside_bandwidth)};
  const Parameter* nics = node.calibration().find(key::host_nics(library));
  if (nics) costs.nics = static_cast<int>(std::lround(nics->value));
  return costs;
}

PostCost post_cost(const Platform& node, bool host) {
  const LibraryRow& row = host ? key::host_post : key::gpu_post;
  for (const auto& [name, parameter] : node.calibration().parameters)
    if (is_of(name, row) && parameter.provenance == "fitted")
      return {parameter.value, parameter.stderr_ / parameter.value, true};
  return {row.prior->value, row.prior->spread, false};
}

double StagingCosts::fresh_s(double bytes) const {
  // Ranks and their buffers differ, so that it sets in over one doubling.
  const double share = std::clamp(std::log2(bytes / fresh_from_B) + 0.5, 0.0, 1.0);  // source: ours
  return share * bytes / fresh_Bps;
}

StagingCosts staging_costs(const Platform& node, const std::string& library, bool pinned) {
  const Transports& known = node.transports();
  const bool pageable = !pinned && known.measured("d2h_pageable");
  const Regime& alone = known.get(pageable ? "d2h_pageable" : "d2h").regimes.front();
  Prior start{kCopy_s, kCopySpread}, rate{kPageableShare * way_Bps(node), kShareSpread};
  if (pageable || known.measured("d2h")) start = {alone.startup.value, kMeasuredSpread};
  // That of a pinned copy is the device's: the process issues it, and waits for its end.
  if (pinned && known.measured("d2h")) start.value += issue_and_wait_s(node, false);
  if (pageable) {
    const auto& cap = known.get("d2h_pageable").regimes.back().rate_cap;
    if (cap) rate = {cap->value, kMeasuredSpread};
  }
  const Learned copy = learned(node.library_parameters(), library, key::staging_rate, rate);
  const Learned begin = learned(node.library_parameters(), library, key::staging_copy, start);
  return {begin.value,
          copy.value,
          asked(node, library, key::staging_fresh),
          asked(node, library, key::staging_fresh_from),
          copy.measured,
          ErrorPart(begin),
          ErrorPart(copy)};
}

double host_copy_Bps(const Platform& node, const std::string& library, double bytes) {
  for (const char* name : {"mpi_socket_host", "mpi_node_host"})
    if (const TransportModel* curve = node.transports().message(name))
      if (const auto& rate = curve->regime(bytes).rate_cap) return rate->value;
  return asked(node, library, key::inside_bandwidth);
}

double library_version(const Calibration& calibration, const std::string& library) {
  const Parameter* version = calibration.find(key::library_version(library));
  return version ? version->value : 0;
}

double own_copy_s(const Platform& node, double bytes) {
  const auto access = cpu_access(node, node.gpu(0));
  if (access && bytes <= access->up_to_B) return access->start_s + bytes / access->rate_Bps;
  const TransportModel& local = node.transports().get("local");
  const Pace pace = local.pace(bytes, kInfinity);
  return pace.delay_s + bytes / (std::isinf(pace.cap_Bps) ? kGpuCopy_Bps : pace.cap_Bps) +
         (node.transports().measured("local") ? issue_and_wait_s(node, false) : 0);
}

CombineCost combine_cost(const Platform& node, const std::string& library, bool on_host) {
  if (on_host) {
    const Learned rate = learned(node.library_parameters(), library, key::host_reduce);
    return {0, rate.value, {}, rate.measured, ErrorPart(rate)};
  }
  const Regime& copy = node.transports().get("local").regimes.back();
  const double kernel_s = copy.flat ? 0 : copy.startup.value;
  // A start-up that nobody measured is that of a kernel as its host sees it.
  return {kernel_s + (node.transports().measured("local") ? issue_and_wait_s(node, true) : 0),
          copy.rate_cap ? kReducePerCopy * copy.rate_cap->value : kGpuReduce_Bps,
          cpu_access(node, node.gpu(0)).value_or(CpuAccess{}), false, ErrorPart(kGpuReduceError)};
}

}  // namespace linkcast::activities
