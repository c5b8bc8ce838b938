#include "sim/forecast/collective_run.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "sim/forecast/interval.hpp"
#include "sim/forecast/library_view.hpp"
#include "sim/forecast/request.hpp"
#include "sim/forecast/transfer.hpp"
#include "sim/plugin/collective.hpp"
#include "sim/plugin/communicator.hpp"

namespace linkcast {
namespace {

// Base and hop latencies come from the library's table, not from this machine. source: the table differs by up to a
// factor of 2 between library versions for the same GPU (ring LL base 3.6 to 6.6 us, hop 0.4 to 0.6 us).
constexpr double kLatencyError = 0.35;
// No collective was fitted, and the share of a link that kernels reach is derived from packet sizes, not measured.
// source: assumed
constexpr double kCollectiveError = 0.1;

/// Links of one hop and the most one thread block gets through it.
struct HopPath {
  std::vector<int> links;
  double rate_cap = std::numeric_limits<double>::infinity();
};

double lowest_capacity(const Platform& platform, const std::vector<int>& links) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const int link : links)
    lowest = std::min(lowest, platform.constraints()[static_cast<std::size_t>(link)].capacity.value);
  return lowest;
}

/// A hop through host memory is store and forward: the sender fills a slice in host memory, then the receiver drains
/// it, so that the two ways do not overlap for one ring.
HopPath hop_path(const ProblemBuilder& builder, const Hop& hop) {
  const Platform& platform = builder.platform();
  const int from = platform.gpu(hop.from), to = platform.gpu(hop.to);
  if (hop.kind == HopKind::kPeer) return {platform.peer_route(from, to)->links};
  if (hop.kind == HopKind::kRelay) {
    const int via = platform.gpu(hop.via);
    HopPath path{platform.peer_route(from, via)->links};
    const std::vector<int>& onward = platform.peer_route(via, to)->links;
    path.links.insert(path.links.end(), onward.begin(), onward.end());
    return path;
  }
  const StagedRoute staged = staged_route(platform, from, to);
  HopPath path{staged.up};
  path.links.insert(path.links.end(), staged.down.begin(), staged.down.end());
  const double up = lowest_capacity(platform, staged.up);
  const double down = std::min(lowest_capacity(platform, staged.down), builder.flow_cap(staged.down).rate_Bps);
  path.rate_cap = 1 / (1 / up + 1 / down);
  return path;
}

/// One ring in steady state: a single flow over all its hops, limited by the slowest.
Activity ring_activity(const ProblemBuilder& builder, const Channel& channel, bool closed, double bytes,
                       double payload_share) {
  const Platform& platform = builder.platform();
  Activity ring;
  std::vector<int> links;
  for (std::size_t i = 0; i + (closed ? 0 : 1) < channel.hops.size(); ++i) {
    const HopPath path = hop_path(builder, channel.hops[i]);
    links.insert(links.end(), path.links.begin(), path.links.end());
    ring.rate_cap_Bps = std::min(ring.rate_cap_Bps, path.rate_cap);
  }
  const bool accelerators_only = std::all_of(links.begin(), links.end(), [&](int link) {
    const auto cable = static_cast<std::size_t>(platform.links()[static_cast<std::size_t>(link)].cable);
    return is_accelerator_cable(platform.topology().cables[cable].kind);
  });
  ring.uses = builder.uses(links);
  ring.work_B = bytes / payload_share;
  if (accelerators_only) {  // whole weights, so that every solver can run it
    ring.work_B /= kernel_link_share();
    return ring;
  }
  for (Use& use : ring.uses) {
    const auto& constraint = platform.constraints()[static_cast<std::size_t>(use.constraint)];
    if (is_accelerator_cable(platform.topology().cables[static_cast<std::size_t>(constraint.cable)].kind))
      use.weight /= kernel_link_share();
  }
  return ring;
}

Json channels_json(const Communicator& communicator) {
  Json channels = Json::array();
  for (const Channel& channel : communicator.channels) channels.push_back(channel.order);
  return channels;
}

int total_blocks(const Communicator& communicator) {
  int blocks = 0;
  for (const Channel& channel : communicator.channels) blocks += channel.blocks;
  return blocks;
}

struct RingRun {
  Solution solution;
  double busiest_B = 0;  ///< bytes per hop of the channel that carries most
};

RingRun run_rings(const Platform& platform, Solver& solver, const Communicator& communicator, const Collective& op,
                  double size_B, double payload_share) {
  const int ranks = static_cast<int>(communicator.gpus.size());
  const double per_hop = op.bytes_per_hop({size_B}, ranks).si;
  ProblemBuilder builder(platform);
  RingRun run;
  for (const Channel& channel : communicator.channels) {
    const double bytes = per_hop * channel.blocks / total_blocks(communicator);
    run.busiest_B = std::max(run.busiest_B, bytes);
    builder.add_activity(ring_activity(builder, channel, op.closed(), bytes, payload_share));
  }
  run.solution = solver.run(builder.problem());
  return run;
}

/// Links that limit a ring; of a ring limited by its host hops, the links of those hops.
Json bottleneck_json(const Platform& platform, const Communicator& communicator, const Solution& solution) {
  std::set<std::string> ids;
  for (std::size_t ring = 0; ring < solution.limited_by.size(); ++ring) {
    const int limit = solution.limited_by[ring];
    if (limit != kOwnCap) {
      ids.insert(platform.constraints()[static_cast<std::size_t>(limit)].id);
      continue;
    }
    for (const Hop& hop : communicator.channels[ring].hops) {
      if (hop.kind != HopKind::kHostMemory) continue;
      const StagedRoute route = staged_route(platform, platform.gpu(hop.from), platform.gpu(hop.to));
      for (const auto* leg : {&route.up, &route.down})
        for (const int link : *leg) ids.insert(platform.constraints()[static_cast<std::size_t>(link)].id);
    }
  }
  return ids;
}

std::string library_name(const Platform& platform, ObjectReader& r) {
  return r.optional<std::string>("library").value_or(platform.calibration().default_library);
}

Json warnings_of(const Platform& platform, const Communicator& communicator, const Solution& solution) {
  Json warnings = Json::array();
  warnings.push_back("base and hop latencies are " + communicator.library + "'s assumptions, not measured on " +
                     platform.topology().name);
  std::set<std::string> nominal;
  for (const int limit : solution.limited_by)
    if (limit != kOwnCap && !platform.constraints()[static_cast<std::size_t>(limit)].capacity.calibrated)
      nominal.insert(platform.constraints()[static_cast<std::size_t>(limit)].id);
  for (const std::string& id : nominal) warnings.push_back("the rate of " + id + " is nominal, not calibrated");
  if (communicator.fallback) warnings.push_back(communicator.why);
  return warnings;
}

}  // namespace

Json collective_answer(Catalogue& catalogue, const std::string& platform_id, Solver& solver, ObjectReader& r) {
  const Platform& platform = catalogue.platform(platform_id);
  const auto op_name = r.required<std::string>("op");
  const auto gpus = read_gpus(r, platform, 2);
  const double size_B = read_size(r, "size_B");
  const std::string library_id = library_name(platform, r);
  const auto forced = r.optional<std::string>("protocol").value_or("");
  if (r.has("algorithm")) r.choice("algorithm", {"ring"});
  r.finish();
  const Collective& op = collectives().get(op_name);
  const Library& library = libraries().get(library_id);
  const Communicator& communicator = catalogue.communicator(platform_id, library_id, gpus);
  const ProtocolChoice protocol = library.protocol(platform, communicator, op_name, {size_B}, forced);
  const RingRun run = run_rings(platform, solver, communicator, op, size_B, protocol.payload_share);

  const int ranks = static_cast<int>(gpus.size());
  const double latency = library.base_latency(protocol.protocol).si +
                         op.steps(ranks) * library.hop_latency(protocol.protocol, communicator.path_class).si;
  const double time = latency + run.solution.makespan_s;
  Uncertainty uncertainty;
  uncertainty.add(kLatencyError * latency / time);
  uncertainty.add(kCollectiveError);
  const Interval interval = uncertainty.around(time);
  Json out;
  out["time_s"] = time;
  out["time_low_s"] = interval.low_s;
  out["time_high_s"] = interval.high_s;
  out["latency_s"] = latency;
  out["algbw_Bps"] = size_B / time;
  out["busbw_Bps"] = size_B / time * op.bus_factor(ranks);
  out["library"] = library_id;
  out["algorithm"] = "ring";
  out["protocol"] = protocol.protocol;
  out["channels"] = channels_json(communicator);
  out["blocks"] = total_blocks(communicator);
  out["channel_bandwidth_Bps"] = run.busiest_B / run.solution.makespan_s;
  out["path_class"] = communicator.path_class;
  out["fallback"] = communicator.fallback;
  out["bottleneck"] = bottleneck_json(platform, communicator, run.solution);
  out["warnings"] = warnings_of(platform, communicator, run.solution);
  return out;
}

Json rings_answer(Catalogue& catalogue, const std::string& platform_id, ObjectReader& r) {
  const Platform& platform = catalogue.platform(platform_id);
  const auto gpus = read_gpus(r, platform, 2);
  const std::string library_id = library_name(platform, r);
  const auto op = r.optional<std::string>("op");
  const double size_B = op ? read_size(r, "size_B") : 0;
  const bool nvls = r.optional<bool>("nvls").value_or(false);
  r.finish();
  const Communicator& communicator = catalogue.communicator(platform_id, library_id, gpus);
  Json out = communicator_json(communicator);
  out["library"] = library_id;
  if (op) {
    static_cast<void>(collectives().get(*op));  // throws on an unknown one
    out.update(tuner_json(libraries().get(library_id), platform, communicator, {*op, {size_B}, "", "", nvls}));
  }
  Solution host_hops;  // only a fallback's limit is known without a size: its hops through host memory
  if (communicator.fallback) host_hops.limited_by.assign(communicator.channels.size(), kOwnCap);
  out["bottleneck"] = bottleneck_json(platform, communicator, host_hops);
  out["warnings"] = Json::array();
  return out;
}

}  // namespace linkcast
