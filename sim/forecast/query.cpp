#include "sim/forecast/query.hpp"

#include <algorithm>
#include <set>

#include "sim/forecast/collective_run.hpp"
#include "sim/forecast/interval.hpp"
#include "sim/forecast/request.hpp"
#include "sim/forecast/show.hpp"
#include "sim/forecast/transfer.hpp"

namespace linkcast {
namespace {

// Outside the calibrated sizes the error grows. source: assumed, 2 % a doubling
constexpr double kPerDoubling = 0.02;

const std::string& device_name(const Platform& platform, int device) {
  return platform.topology().devices[static_cast<std::size_t>(device)].id;
}

Json link_ids(const Platform& platform, const std::vector<int>& links) {
  Json ids = Json::array();
  for (const int link : links) ids.push_back(platform.constraints()[static_cast<std::size_t>(link)].id);
  return ids;
}

/// What decided a transfer's time: constraint ids, and whether start-up or bytes took longer.
struct Verdict {
  std::set<std::string> bottleneck;
  std::set<std::string> warnings;
  double parameter_error = 0;
};

/// Constraint that would limit an activity alone: for solvers that do not tell which one did.
int tightest(const Problem& problem, const Activity& activity) {
  double rate = activity.rate_cap_Bps;
  int limit = kOwnCap;
  for (const Use& use : activity.uses) {
    const double share = problem.capacity_Bps[static_cast<std::size_t>(use.constraint)] / use.weight;
    if (share >= rate) continue;
    rate = share;
    limit = use.constraint;
  }
  return limit;
}

void judge(const ProblemBuilder& builder, const Solution& solution, const PlannedTransfer& plan, Verdict& verdict) {
  const Platform& platform = builder.platform();
  for (const Resolved& used : plan.used)
    if (!used.calibrated)
      verdict.warnings.insert(
          platform.calibration().find(used.name)
              ? "start-up of " + plan.model + " copies was not measured: " + used.name + " stands in"
              : "parameter " + used.name + " was not measured on this machine: an assumption stands in");
  const auto main = static_cast<std::size_t>(plan.main_activity);
  int limit = solution.limited_by.empty() ? tightest(builder.problem(), builder.problem().activities[main])
                                          : solution.limited_by[main];
  if (limit == kOwnCap) limit = plan.cap_link;
  if (limit < 0) return;
  const Constraint& constraint = platform.constraints()[static_cast<std::size_t>(limit)];
  verdict.bottleneck.insert(constraint.id);
  verdict.parameter_error = std::max(verdict.parameter_error, constraint.capacity.rel_error);
  if (!constraint.capacity.calibrated)
    verdict.warnings.insert("the rate of " + constraint.id + " is nominal, not calibrated");
}

void check_validity(const Platform& platform, double size_B, Verdict& verdict, Uncertainty& uncertainty) {
  const Calibration& calibration = platform.calibration();
  if (size_B <= calibration.valid_to_B && size_B >= calibration.valid_from_B) return;
  const bool above = size_B > calibration.valid_to_B;
  verdict.warnings.insert("size is " + std::string(above ? "above" : "below") + " the calibrated range " +
                          to_text(Bytes{calibration.valid_from_B}) + " to " + to_text(Bytes{calibration.valid_to_B}) +
                          ": extrapolated");
  uncertainty.add(kPerDoubling *
                  std::abs(std::log2(size_B / (above ? calibration.valid_to_B : calibration.valid_from_B))));
}

void put_interval(Json& out, double time, const Interval& interval) {
  out["time_s"] = time;
  out["time_low_s"] = interval.low_s;
  out["time_high_s"] = interval.high_s;
}

struct P2pRequest {
  Transfer transfer;
  bool bidirectional = false;
};

P2pRequest read_p2p(const Platform& platform, ObjectReader& r) {
  P2pRequest request;
  request.transfer.source = device_by_id(platform, r.required<std::string>("src"), r, "src");
  request.transfer.target = device_by_id(platform, r.required<std::string>("dst"), r, "dst");
  request.transfer.bytes = read_size(r, "size_B");
  if (r.has("transport"))
    request.transfer.transport = r.choice("transport", {"local", "peer", "relay", "staged", "host"});
  if (const auto via = r.optional<std::string>("via")) request.transfer.via = device_by_id(platform, *via, r, "via");
  request.bidirectional = r.optional<bool>("bidirectional").value_or(false);
  request.transfer.by = read_engine(r);
  if (r.has("direction")) request.transfer.read = r.choice("direction", {"read", "write"}) == "read";
  r.finish();
  return request;
}

Json p2p_result(const Platform& platform, Solver& solver, const P2pRequest& request) {
  ProblemBuilder builder(platform);
  const PlannedTransfer plan = builder.add(request.transfer);
  if (request.bidirectional) {
    Transfer back = request.transfer;
    std::swap(back.source, back.target);
    builder.add(back);
  }
  const Solution solution = solver.run(builder.problem());
  const double time = solution.makespan_s;
  Verdict verdict;
  judge(builder, solution, plan, verdict);
  Uncertainty uncertainty;
  uncertainty.add(scatter_of(platform.calibration(), plan.model, request.transfer.bytes));
  uncertainty.add(verdict.parameter_error);
  check_validity(platform, request.transfer.bytes, verdict, uncertainty);
  if (request.transfer.by == MoveBy::kSm)
    verdict.warnings.insert("start-up of copies by kernels was not measured: that of copy engines stands in");
  Json out;
  put_interval(out, time, uncertainty.around(time));
  out["bandwidth_Bps"] = (request.bidirectional ? 2 : 1) * request.transfer.bytes / time;
  out["latency_s"] = plan.latency_s;
  out["transport"] = plan.transport;
  if (plan.transport == "peer") out["direction"] = plan.model == "peer_read" ? "read" : "write";
  if (plan.via >= 0) out["via"] = device_name(platform, plan.via);
  out["route"] = link_ids(platform, plan.links);
  out["bottleneck"] = verdict.bottleneck;
  out["limited_by"] = time > 2 * plan.latency_s ? "bandwidth" : "start-up";
  out["warnings"] = verdict.warnings;
  return out;
}

Json p2p_answer(Catalogue& catalogue, const std::string& id, Solver& solver, ObjectReader& r) {
  const Platform& platform = catalogue.platform(id);
  return p2p_result(platform, solver, read_p2p(platform, r));
}

std::vector<Transfer> read_flows(const Platform& platform, ObjectReader& r) {
  const Json& list = r.raw("flows");
  if (!list.is_array() || list.empty()) r.fail("flows", "must be a non-empty array of [src, dst, size_B]");
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json& flow = list[i];
    const std::string key = "flows/" + std::to_string(i);
    const std::string at = r.pointer("flows") + "/" + std::to_string(i);
    if (!flow.is_array() || flow.size() != 3 || !flow[0].is_string() || !flow[1].is_string() || !flow[2].is_number())
      throw InputError(r.file(), at, "must be [src, dst, size_B], e.g. [\"gpu0\", \"gpu1\", 67108864]");
    Json named{{"src", flow[0]}, {"dst", flow[1]}, {"size_B", flow[2]}};
    ObjectReader one(named, r.file(), at);
    Transfer transfer;
    transfer.source = device_by_id(platform, flow[0].get<std::string>(), one, "0");
    transfer.target = device_by_id(platform, flow[1].get<std::string>(), one, "1");
    transfer.bytes = checked_size(one, "2", flow[2].get<double>());
    transfers.push_back(transfer);
  }
  return transfers;
}

Json flows_answer(Catalogue& catalogue, const std::string& id, Solver& solver, ObjectReader& r) {
  const Platform& platform = catalogue.platform(id);
  std::vector<Transfer> transfers = read_flows(platform, r);
  const MoveBy by = read_engine(r);
  std::string transport;
  if (r.has("transport")) transport = r.choice("transport", {"peer", "relay", "staged"});
  r.finish();
  ProblemBuilder builder(platform);
  std::vector<PlannedTransfer> plans;
  for (Transfer& transfer : transfers) {
    transfer.by = by;
    transfer.transport = transport;
    plans.push_back(builder.add(transfer));
  }
  const Solution solution = solver.run(builder.problem());
  Verdict verdict;
  Uncertainty uncertainty;
  double scatter = 0, total = 0;
  std::size_t largest = 0, smallest = 0;
  Json times = Json::array(), transports = Json::array();
  for (std::size_t i = 0; i < plans.size(); ++i) {
    judge(builder, solution, plans[i], verdict);
    if (transfers[i].bytes > transfers[largest].bytes) largest = i;
    if (transfers[i].bytes < transfers[smallest].bytes) smallest = i;
    scatter = std::max(scatter, scatter_of(platform.calibration(), plans[i].model, transfers[i].bytes));
    total += transfers[i].bytes;
    times.push_back(solution.finish_s[static_cast<std::size_t>(plans[i].activities.back())]);
    transports.push_back(plans[i].transport);
  }
  uncertainty.add(scatter);
  uncertainty.add(verdict.parameter_error);
  check_validity(platform, transfers[largest].bytes, verdict, uncertainty);
  if (transfers[smallest].bytes < platform.calibration().valid_from_B)
    check_validity(platform, transfers[smallest].bytes, verdict, uncertainty);
  Json out;
  put_interval(out, solution.makespan_s, uncertainty.around(solution.makespan_s));
  out["flow_times_s"] = times;
  out["transports"] = transports;
  out["bandwidth_Bps"] = total / solution.makespan_s;
  out["bottleneck"] = verdict.bottleneck;
  out["warnings"] = verdict.warnings;
  return out;
}

/// Every way the runtime or a program could take between two GPUs, fastest first.
Json routes_answer(Catalogue& catalogue, const std::string& id, Solver& solver, ObjectReader& r) {
  const Platform& platform = catalogue.platform(id);
  P2pRequest base;
  base.transfer.source = device_by_id(platform, r.required<std::string>("src"), r, "src");
  base.transfer.target = device_by_id(platform, r.required<std::string>("dst"), r, "dst");
  // source: the sweep of P100-DGX-1 shows links saturated from 4 MiB on; 64 MiB is well beyond
  base.transfer.bytes = r.has("size_B") ? read_size(r, "size_B") : 67108864.0;
  r.finish();
  const std::string natural = runtime_transport(platform, base.transfer.source, base.transfer.target);
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
    for (const int via : platform.relays(base.transfer.source, base.transfer.target)) candidate("relay", via);
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

Json dispatch(Catalogue& catalogue, const std::string& kind, const std::string& platform, Solver& solver,
              ObjectReader& r) {
  if (kind == "p2p") return p2p_answer(catalogue, platform, solver, r);
  if (kind == "flows") return flows_answer(catalogue, platform, solver, r);
  if (kind == "collective") return collective_answer(catalogue, platform, solver, r);
  if (kind == "rings") return rings_answer(catalogue, platform, r);
  if (kind == "routes") return routes_answer(catalogue, platform, solver, r);
  r.finish();
  return show_answer(catalogue.platform(platform));
}

}  // namespace

Json answer_or_throw(Catalogue& catalogue, const Json& query, const std::string& name) {
  ObjectReader r(query, name);
  Json out;
  if (r.has("id")) out["id"] = r.raw("id");
  const std::string kind = r.choice("kind", {"p2p", "flows", "collective", "rings", "routes", "show"});
  const auto platform_id = r.required<std::string>("platform");
  const auto solver_id = r.optional<std::string>("solver").value_or("fluid");
  out["kind"] = kind;
  try {
    out.update(dispatch(catalogue, kind, platform_id, catalogue.solver(solver_id), r));
  } catch (const InputError& error) {
    const std::string what = error.what();
    throw what.rfind(name, 0) == 0 ? error : InputError(name + ": " + what);
  }
  const Platform& platform = catalogue.platform(platform_id);
  out["inputs"] = {{"query", query},
                   {"solver", solver_id},
                   {"topology_sha256", platform.wiring().sha256},
                   {"calibration_sha256", platform.calibration().sha256}};
  out["versions"] = {{"linkcast", LINKCAST_VERSION}, {"git", LINKCAST_GIT}};
  return out;
}

Json answer(Catalogue& catalogue, const Json& query) {
  try {
    return answer_or_throw(catalogue, query, "query");
  } catch (const InputError& error) {
    Json out;
    if (query.is_object() && query.contains("id")) out["id"] = query["id"];
    out["error"] = error.what();
    return out;
  }
}

}  // namespace linkcast
