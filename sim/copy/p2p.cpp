#include <algorithm>

#include "sim/activities/request.hpp"
#include "sim/copy/copies.hpp"
#include "sim/uncertainty/verdict.hpp"

namespace linkcast::copy {
namespace {

const std::string& device_name(const Platform& platform, int device) {
  return platform.topology().devices[static_cast<std::size_t>(device)].id;
}

struct P2pRequest {
  activities::Transfer transfer;
  bool bidirectional = false;
};

P2pRequest read_p2p(const Platform& platform, ObjectReader& r) {
  P2pRequest request;
  request.transfer.source = activities::device_by_id(platform, r.required<std::string>("src"), r, "src");
  request.transfer.target = activities::device_by_id(platform, r.required<std::string>("dst"), r, "dst");
  request.transfer.bytes = activities::read_size(r, "size_B");
  if (r.has("transport"))
    request.transfer.transport = r.choice("transport", {"local", "peer", "relay", "staged", "host"});
  if (const auto via = r.optional<std::string>("via"))
    request.transfer.via = activities::device_by_id(platform, *via, r, "via");
  request.bidirectional = r.optional<bool>("bidirectional").value_or(false);
  request.transfer.by = activities::read_engine(r);
  request.transfer.read = activities::read_direction(r);
  request.transfer.single = r.has("timing") && r.choice("timing", {"single", "back_to_back"}) == "single";
  request.transfer.pageable = r.optional<bool>("pageable").value_or(false);
  if (r.has("chunk_B")) request.transfer.chunk_B = activities::read_size(r, "chunk_B");
  r.finish();
  return request;
}

Json p2p_result(const Platform& platform, Solver& solver, const P2pRequest& request) {
  activities::ProblemBuilder builder(platform);
  std::vector<activities::PlannedTransfer> plans;
  plans.push_back(builder.add(request.transfer));
  if (request.bidirectional) {
    activities::Transfer back = request.transfer;
    std::swap(back.source, back.target);
    plans.push_back(builder.add(back));
  }
  const activities::PlannedTransfer& plan = plans.front();
  const Solution solution = solver.run(builder.problem());
  const double time = solution.makespan_s;
  uncertainty::Verdict verdict;
  uncertainty::Uncertainty uncertainty =
      uncertainty::uncertainty_of(builder, solution, plans, request.transfer.bytes, verdict);
  if (request.bidirectional) uncertainty::add_sharing({request.transfer, request.transfer}, verdict, uncertainty);
  uncertainty::check_validity(platform, request.transfer.bytes, verdict, uncertainty);
  Json out;
  uncertainty::put_interval(out, time, uncertainty.around(time));
  out["bandwidth_Bps"] = (request.bidirectional ? 2 : 1) * request.transfer.bytes / time;
  out["latency_s"] = plan.latency_s;
  out["transport"] = plan.transport;
  if (plan.transport == "peer")
    out["direction"] = request.transfer.read.value_or(plan.model == "peer_read") ? "read" : "write";
  if (plan.via >= 0) out["via"] = device_name(platform, plan.via);
  out["route"] = uncertainty::link_ids(platform, plan.links);
  out["bottleneck"] = verdict.bottleneck;
  out["limited_by"] = time > 2 * plan.latency_s ? "bandwidth" : "start-up";
  out["warnings"] = verdict.warnings;
  return out;
}

}  // namespace

Json p2p_answer(const Platform& platform, Solver& solver, ObjectReader& r) {
  return p2p_result(platform, solver, read_p2p(platform, r));
}

Json routes_answer(const Platform& platform, Solver& solver, ObjectReader& r) {
  P2pRequest base;
  base.transfer.source = activities::device_by_id(platform, r.required<std::string>("src"), r, "src");
  base.transfer.target = activities::device_by_id(platform, r.required<std::string>("dst"), r, "dst");
  // source: the sweep of P100-DGX-1 shows links saturated from 4 MiB on; 64 MiB is well beyond
  base.transfer.bytes = r.has("size_B") ? activities::read_size(r, "size_B") : 67108864.0;
  r.finish();
  const std::string natural = activities::runtime_transport(platform, base.transfer.source, base.transfer.target);
  std::vector<P2pRequest> candidates;
  const auto candidate = [&](const std::string& transport, int via) {
    P2pRequest request = base;
    request.transfer.transport = transport;
    request.transfer.via = via;
    candidates.push_back(request);
  };
  candidate(natural, -1);
  if (natural == "peer" || natural == "staged") {
    if (natural == "peer") candidate("staged", -1);
    const auto& direct = platform.peer_route(base.transfer.source, base.transfer.target);
    // A detour over the same switch is no way of its own.
    for (const int via : platform.relays(base.transfer.source, base.transfer.target))
      if (!direct || platform.peer_route(base.transfer.source, via)->links.front() != direct->links.front())
        candidate("relay", via);
  }
  std::vector<Json> routes;
  for (const P2pRequest& request : candidates) routes.push_back(p2p_result(platform, solver, request));
  std::stable_sort(routes.begin(), routes.end(),
                   [](const Json& a, const Json& b) { return a["time_s"].get<double>() < b["time_s"].get<double>(); });
  Json out;
  out["size_B"] = base.transfer.bytes;
  out["runtime_takes"] = natural;
  out["routes"] = routes;
  out["bottleneck"] = routes.front()["bottleneck"];
  out["warnings"] = Json::array();
  return out;
}

}  // namespace linkcast::copy
