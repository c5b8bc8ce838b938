#include <fmt/format.h>

#include <algorithm>

#include "sim/base/sort_near.hpp"
#include "sim/forecast/copies.hpp"
#include "sim/plan/request.hpp"

namespace linkcast::copy {
namespace {

// source: the sweep of P100-DGX-1 shows links saturated from 4 MiB on; 64 MiB is well beyond
constexpr double kRouteSize_B = 67108864;
constexpr int kRoutes = 4, kMostRoutes = 1000;  // ours: of each kind

/// Between two devices of a node: what the runtime takes, through the host, and through each other GPU.
Json routes_inside(const Cluster& machine, Solver& solver, const CopyRequest& base) {
  const Platform& node = machine.node();
  const int from = base.copies.front().from.device, to = base.copies.front().to.device;
  const std::string natural = activities::runtime_transport(node, from, to);
  std::vector<Json> routes;
  const auto candidate = [&](const std::string& transport, int via) {
    CopyRequest request = base;
    request.inside.transport = transport;
    request.inside.via = via;
    routes.push_back(to_json(forecast_copies(machine, solver, request)));
  };
  candidate(natural, -1);
  if (natural == "peer" || natural == "staged") {
    if (natural == "peer") candidate("staged", -1);
    const auto& direct = node.peer_route(from, to);
    // A detour over the same switch is no way of its own.
    for (const int via : node.relays(from, to))
      if (!direct || node.peer_route(from, via)->links.front() != direct->links.front()) candidate("relay", via);
  }
  return {{"runtime_takes", natural}, {"routes", routes}};
}

/// Between two nodes: minimal ways and detours of the fabric, up to `most` of each.
Json routes_between(const Cluster& machine, Solver& solver, const CopyRequest& base, int most) {
  const Fabric& fabric = machine.fabric();
  const Copy& copy = base.copies.front();
  const auto [from, to] = activities::endpoints_of(machine, {copy.from, copy.to, copy.bytes, ""});
  const int minimal = fabric.minimal_ways(from, to), detours = fabric.detours(from, to);
  std::vector<Json> routes;
  const auto add = [&, from = from, to = to](bool detour, int which) {  // named: Clang before 16 takes no others
    CopyRequest request = base;
    std::vector<int>& way = request.between.way;
    if (detour)
      fabric.detour(from, to, which, way);
    else
      fabric.minimal_way(from, to, which, way);
    routes.push_back(to_json(forecast_copies(machine, solver, request)));
    routes.back()["way"] = fmt::format("{}{}", detour ? "detour " : "minimal ", which);
    routes.back()["hops"] = way.size();
  };
  for (int which = 0; which < std::min(most, minimal); ++which) add(false, which);
  for (int which = 0; which < std::min(most, detours); ++which) add(true, which);
  return {{"minimal_ways", minimal},
          {"detours", detours},
          {"routing", fabric_routing_names()[static_cast<std::size_t>(machine.routing())]},
          {"routes", routes}};
}

}  // namespace

Json routes_answer(const Cluster& machine, Solver& solver, ObjectReader& r) {
  CopyRequest base;
  const auto src = r.required<std::string>("src"), dst = r.required<std::string>("dst");
  base.names_nodes = names_node(src) || names_node(dst);
  Copy copy{read_end(machine, r, "src", src), read_end(machine, r, "dst", dst), kRouteSize_B};
  copy.message = copy.from.node != copy.to.node;
  if (r.has("size_B")) copy.bytes = activities::read_size(r, "size_B");
  int most = kRoutes;
  if (copy.message) {
    most = r.optional<int>("k").value_or(kRoutes);
    if (most < 1 || most > kMostRoutes) r.fail("k", fmt::format("must be 1 to {}", kMostRoutes));
  } else {
    if (r.has("k")) r.fail("k", "is of ways between nodes, and both ends are in one");
    base.timing = Timing::kBackToBack;
  }
  r.finish();
  base.copies = {copy};
  Json out{{"size_B", copy.bytes}};
  out.update(copy.message ? routes_between(machine, solver, base, most) : routes_inside(machine, solver, base));
  sort_near(out["routes"].get_ref<Json::array_t&>(), [](const Json& route) { return route["time_s"].get<double>(); });
  out["bottleneck"] = out["routes"].front()["bottleneck"];
  out["warnings"] = Json::array();
  return out;
}

}  // namespace linkcast::copy
