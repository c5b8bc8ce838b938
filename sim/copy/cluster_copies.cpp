#include "sim/copy/cluster_copies.hpp"

#include <algorithm>
#include <cctype>

#include "sim/activities/cluster_message.hpp"
#include "sim/activities/request.hpp"
#include "sim/congestion/noisy_message.hpp"
#include "sim/copy/nic_queue.hpp"
#include "sim/uncertainty/interval.hpp"
#include "sim/uncertainty/verdict.hpp"

namespace linkcast::copy {
namespace {

// The curve was measured between two nodes next to each other; other pairs of the same distance scatter. source: paper
// 002 (SC24), section V-B1: 3.7 to 5.7 us under one switch on the same system
constexpr double kPairError = 0.1;
// Of a start-up that stands in. source: as kStandInError of transfer.cpp
constexpr double kStandInError = 0.3;
constexpr double kRouteSize_B = 67108864;       // source: as routes_answer of one node
constexpr int kRoutes = 4, kMostRoutes = 1000;  // ours: of each kind

/// "node3/gpu1"
activities::ClusterEnd read_end(const Cluster& cluster, ObjectReader& r, const std::string& key) {
  const auto text = r.required<std::string>(key);
  const auto slash = text.find('/');
  const std::string node = text.substr(0, slash);
  const bool plain = node.size() == 5 || (node.size() > 5 && node[4] != '0');  // node0 is never written node00
  const bool numbered = plain && node.size() < 12 && node.compare(0, 4, "node") == 0 &&
                        std::all_of(node.begin() + 4, node.end(), [](unsigned char c) { return std::isdigit(c); });
  const int number = numbered ? std::stoi(node.substr(4)) : -1;
  if (number < 0 || number >= cluster.nodes() || slash == std::string::npos)
    r.fail(key, "'" + text + "' is no GPU or CPU of a node: node0/gpu0 to node" + std::to_string(cluster.nodes() - 1) +
                    "/gpu" + std::to_string(cluster.node().gpu_count() - 1));
  return {number, activities::device_by_id(cluster.node(), text.substr(slash + 1), r, key)};
}

Json message_result(const Cluster& cluster, Solver& solver, const activities::Message& there, bool both,
                    const congestion::NetworkLoad& load = {}) {
  activities::ClusterProblem problem(cluster);
  if (load.noise) problem.keep_crossings();
  const activities::PlannedMessage plan = activities::add_message(problem, there);
  if (both) activities::add_message(problem, {there.to, there.from, there.bytes, there.transport});
  const Solution solution = solver.run(problem.problem());
  double time = solution.makespan_s;
  Json percentiles = Json::object();
  if (load.noise) {
    const congestion::SampleTimes times = congestion::noisy_message_times(problem, load, solver);
    congestion::put_percentiles(percentiles, load, times, time);
    time = congestion::percentile(times, 50).time_s();
  }
  uncertainty::Verdict verdict;
  const uncertainty::Uncertainty uncertainty = uncertainty_of(cluster, plan, there.bytes, time, verdict);
  if (!plan.warning.empty()) verdict.warnings.insert(plan.warning);
  const int limit =
      solution.limited_by.empty() ? kOwnCap : solution.limited_by.at(static_cast<std::size_t>(plan.network));
  if (limit == kOwnCap && time > 2 * plan.latency_s) {  // the curve's own rate: what its narrowest link attained
    const auto narrowest = std::min_element(plan.links.begin(), plan.links.end(),
                                            [&](int a, int b) { return cluster.capacity(a) < cluster.capacity(b); });
    if (narrowest != plan.links.end()) verdict.bottleneck.insert(cluster.id(*narrowest));
  }
  if (limit != kOwnCap) {
    verdict.bottleneck.insert(cluster.id(problem.key(limit)));
    if (!cluster.calibrated(problem.key(limit)))
      verdict.warnings.insert("the rate of " + cluster.id(problem.key(limit)) + " is nominal, not calibrated");
  }
  Json out;
  uncertainty::put_interval(out, time, uncertainty.around(time));
  out["bandwidth_Bps"] = (both ? 2 : 1) * there.bytes / time;
  out["latency_s"] = plan.latency_s;
  out["transport"] = plan.transport;
  if (!plan.distance.empty()) out["distance"] = plan.distance;
  if (plan.nics > 1) out["nics"] = plan.nics;
  out["route"] = Json::array();
  for (const int key : plan.links) out["route"].push_back(cluster.id(key));
  out["bottleneck"] = verdict.bottleneck;
  out["limited_by"] = time > 2 * plan.latency_s ? "bandwidth" : "start-up";
  out.update(percentiles);
  out["warnings"] = verdict.warnings;
  return out;
}

}  // namespace

uncertainty::Uncertainty uncertainty_of(const Cluster& cluster, const activities::PlannedMessage& plan, double bytes,
                                        double time_s, uncertainty::Verdict& verdict) {
  uncertainty::Uncertainty uncertainty;
  uncertainty.add(uncertainty::scatter_of(cluster.node().calibration(), plan.transport, bytes));
  uncertainty.add(plan.rate_error);
  uncertainty.add(plan.delay_error_s / time_s);
  if (!plan.distance.empty()) uncertainty.add(kPairError);
  if (plan.stand_in) {
    uncertainty.add(kStandInError);
    verdict.warnings.insert("no message inside a node of " + cluster.node().topology().name +
                            " was measured: the start-up of one between nodes and the rates of links stand in");
  }
  uncertainty::check_validity(cluster.node(), bytes, verdict, uncertainty);
  return uncertainty;
}

bool names_nodes(const Json& query) {
  const auto slashed = [&](const char* key) {
    return query.contains(key) && query[key].is_string() && query[key].get<std::string>().rfind("node", 0) == 0;
  };
  return slashed("src") || slashed("dst");
}

Json cluster_p2p_answer(const Cluster& cluster, Solver& solver, ObjectReader& r, log::Progress& progress) {
  activities::Message there{read_end(cluster, r, "src"), read_end(cluster, r, "dst"),
                            activities::read_size(r, "size_B"), ""};
  if (r.has("transport")) there.transport = r.choice("transport", Transports::message_names());
  const bool gpu =
      cluster.node().topology().devices[static_cast<std::size_t>(there.from.device)].kind == DeviceKind::kGpu;
  if (gpu && there.from.node == there.to.node && there.from.device == there.to.device)  // a CPU has many processes
    r.fail("dst", "is the device that sends: a copy inside it is src gpu0, dst gpu0 without a node");
  const bool both = r.optional<bool>("bidirectional").value_or(false);
  const bool queued = r.has("timing") && r.choice("timing", {"single", "back_to_back"}) == "back_to_back";
  if (queued && both) r.fail("bidirectional", "is not known of messages one behind the other");
  const congestion::NetworkLoad load = congestion::read_noise(r, cluster.node().calibration(), progress);
  if (load.noise && there.from.node == there.to.node)
    r.fail("noise", "is of the network, and both ends are on one node");
  if (load.noise && queued) r.fail("noise", "is not modelled of messages one behind the other");
  r.finish();
  if (queued) return message_queue_answer(cluster, solver, there);
  return message_result(cluster, solver, there, both, load);
}

Json cluster_routes_answer(const Cluster& cluster, Solver& solver, ObjectReader& r) {
  activities::Message message{read_end(cluster, r, "src"), read_end(cluster, r, "dst"), kRouteSize_B, ""};
  if (r.has("size_B")) message.bytes = activities::read_size(r, "size_B");
  const int most = r.optional<int>("k").value_or(kRoutes);
  if (most < 1 || most > kMostRoutes) r.fail("k", "must be 1 to " + std::to_string(kMostRoutes));
  if (message.from.node == message.to.node) r.fail("dst", "is on the same node: name both without the node");
  r.finish();
  const Fabric& fabric = cluster.fabric();
  const auto [from, to] = activities::endpoints_of(cluster, message);
  const int minimal = fabric.minimal_ways(from, to), detours = fabric.detours(from, to);
  std::vector<Json> routes;
  const auto add = [&](bool detour, int which) {
    message.way.clear();
    if (detour)
      fabric.detour(from, to, which, message.way);
    else
      fabric.minimal_way(from, to, which, message.way);
    routes.push_back(message_result(cluster, solver, message, false));
    routes.back()["way"] = (detour ? "detour " : "minimal ") + std::to_string(which);
    routes.back()["hops"] = message.way.size();
  };
  for (int which = 0; which < std::min(most, minimal); ++which) add(false, which);
  for (int which = 0; which < std::min(most, detours); ++which) add(true, which);
  std::stable_sort(routes.begin(), routes.end(),
                   [](const Json& a, const Json& b) { return a["time_s"].get<double>() < b["time_s"].get<double>(); });
  Json out;
  out["size_B"] = message.bytes;
  out["minimal_ways"] = minimal;
  out["detours"] = detours;
  out["routing"] = fabric_routing_names()[static_cast<std::size_t>(cluster.routing())];
  out["routes"] = routes;
  out["bottleneck"] = routes.front()["bottleneck"];
  out["warnings"] = Json::array();
  return out;
}

}  // namespace linkcast::copy
