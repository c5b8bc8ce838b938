#include "calibrate/pipelines/sample_time.hpp"

#include <algorithm>
#include <limits>

#include "sim/machine/fabric_generator.hpp"
#include "sim/machine/fabric_routing.hpp"
#include "sim/machine/noise.hpp"
#include "sim/plan/transfer.hpp"

namespace linkcast::pipelines {
namespace {

/// The copy that a sample timed.
activities::Transfer transfer_of(const fit::Sample& s) {
  activities::Transfer transfer{s.source, s.target, s.size_B, s.transport, s.via};
  const bool peer = s.transport.starts_with("peer");
  if (peer) transfer.transport = "peer";
  if (s.transport.starts_with("local")) transfer.transport = "local";
  if (s.transport.starts_with("h2d") || s.transport.starts_with("d2h")) transfer.transport = "host";
  if (peer || s.transport.starts_with("relay")) transfer.read = s.read;
  if (s.transport.find("_sm") != std::string::npos) transfer.by = activities::MoveBy::kSm;
  transfer.pageable = s.transport.find("pageable") != std::string::npos;
  transfer.single = s.single;
  return transfer;
}

}  // namespace

double SampleTime::operator()(const fit::Sample& s) {
  double& time_s =
      known_[{s.transport + (s.read ? "<" : "") + (s.both ? "=" : ""), s.single, s.source, s.target, s.via, s.size_B}];
  if (time_s > 0) return time_s;
  activities::ProblemBuilder builder(platform_);
  builder.add(transfer_of(s));
  if (s.both) {
    activities::Transfer back = transfer_of(s);
    std::swap(back.source, back.target);
    builder.add(back);
  }
  return time_s = solver_.run(builder.problem()).makespan_s;
}

std::map<std::string, fit::FabricDistance> fabric_distances(const Topology& topology) {
  const auto fabric = make_fabric(topology);
  std::map<std::string, fit::FabricDistance> found;
  std::map<std::string, int> count;
  double nearest_s = std::numeric_limits<double>::infinity();
  for (int to = 1; to < fabric->endpoints(); ++to) {
    const std::string& name = fabric->distances()[static_cast<std::size_t>(fabric->distance(0, to))];
    const double latency_s = fabric_latency(*fabric, 0, to).si;
    nearest_s = std::min(nearest_s, latency_s);
    if (count[name]++ == 0) found[name].links = noisy_way(*fabric, 0, to).links;
    found[name].farther_s += latency_s;
  }
  for (auto& [name, distance] : found) distance.farther_s = distance.farther_s / count[name] - nearest_s;
  return found;
}

}  // namespace linkcast::pipelines
