#include "calibrate/fit/distance_fit.hpp"

#include <optional>

#include "calibrate/fit/message_fit.hpp"
#include "sim/base/input_error.hpp"

namespace linkcast::fit {
namespace {

/// Kind of the cables that are farthest from the nodes; empty: a machine without a network.
std::string between_switches(const Topology& topology) {
  if (!topology.fabric.is_object() || !topology.fabric.contains("links")) return "";
  for (const char* name : {"global", "local"})
    if (topology.fabric["links"].contains(name)) return topology.fabric["links"][name]["cable"].get<std::string>();
  return "";
}

}  // namespace

void fit_distances(FitContext& context, const Topology& topology, const std::vector<Measurement>& measurements,
                   const std::map<std::string, FabricDistance>& distances) {
  const std::string kind = between_switches(topology);
  if (kind.empty()) return;
  const ParameterKey scale_key = key::cable_latency_scale(kind);
  for (const Measurement& m : measurements)
    for (const MeasuredSpread& spread : m.spreads) {
      if (!spread.mean_time_s || spread.max_time_s) continue;
      const auto distance = distances.find(spread.distance);
      if (distance == distances.end() || !(distance->second.farther_s > 0))
        throw InputError(m.path, "/points", "'" + spread.distance + "': no distance of this fabric beyond its nearest");
      Calibration curves;
      curves.parameters = context.found;
      const std::string transport = spread.transport == "mpi" ? "mpi_network" : spread.transport;
      if (!curves.find(key::startup(transport, 0)))
        throw InputError(m.path, "/points", "needs a measured message of " + transport + " between neighbours");
      const double beyond_s = *spread.mean_time_s - message_time(curves, transport, spread.size_B);
      if (!(beyond_s > 0)) throw InputError(m.path, "/points", "farther messages take longer than those of neighbours");
      const double scale = beyond_s / distance->second.farther_s;
      context.set(scale_key, scale, m.precision * scale * *spread.mean_time_s / beyond_s);
    }
  if (!context.has(scale_key) && context.lends(scale_key)) context.inherit(scale_key, "");
}

}  // namespace linkcast::fit
