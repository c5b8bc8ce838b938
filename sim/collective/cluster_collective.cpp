#include "sim/collective/cluster_collective.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/activities/cluster_channels.hpp"
#include "sim/activities/request.hpp"
#include "sim/collective/alternatives.hpp"
#include "sim/collective/cluster_messages.hpp"
#include "sim/collective/collective_cost.hpp"
#include "sim/collective/collective_result.hpp"
#include "sim/congestion/jobs_beside.hpp"
#include "sim/uncertainty/verdict.hpp"

namespace linkcast::collective {
namespace {

// No collective between nodes was ever measured for this repository: twice what those of one node showed.
// source: assumed
constexpr double kClusterError = 2 * kCollectiveError;

constexpr std::size_t kNamedLimits = 8;  // ours: links named as bottleneck of an operation of many messages

Run start(const ClusterJob& job) {
  const auto choice =
      job.library.choose(job.node(), job.communicator, {job.op_name, {job.size_B}, job.algorithm, job.protocol, false});
  if (!choice) throw InputError("library: " + job.communicator.library + " has no cost model for several nodes");
  Run run{{choice->entry.algorithm, choice->entry.protocol, choice->channels, choice->payload_share}, {}};
  return run;
}

/// Base, hops inside nodes and hops between them, one after the other.
void add_latency(const ClusterJob& job, Run& run, double inside, double between, double distance_s) {
  run.steps = static_cast<int>(std::lround(inside + between));
  run.cost = collective_cost(job.node(), job.library, job.communicator, run.taken.algorithm, run.taken.protocol,
                             static_cast<int>(std::lround(inside)));
  const double hop_s = job.library.network_hop_latency(run.taken.algorithm, run.taken.protocol).si;
  run.latency_s = run.cost.base_s + inside * run.cost.hop_s + between * hop_s + distance_s;
  run.cost.error_s = std::hypot(run.cost.error_s, kNetworkHopError * between * hop_s);
}

Run prepare_ring(const ClusterJob& job, Run run, activities::ClusterProblem& problem) {
  const Communicator& made = job.communicator;
  const bool closed = job.op.closed();
  // Of a chain the first byte's way to the last rank counts once in a row of calls, which follow each other down it.
  const double share = closed ? 1 : 1.0 / job.calls;
  const double steps = job.op.steps(job.ranks()) * share;
  const double between = closed ? steps * made.nodes / job.ranks() : (made.nodes - 1) * share;
  const double rounds = closed ? steps / job.ranks() : share;
  add_latency(job, run, steps - between, between,
              activities::ring_distance_s(job.cluster, made, made.channels.front(), closed) * rounds);
  run.cost.channel_Bps *= alignment_share(run.taken.protocol, job.op.block_distance({job.size_B}, job.ranks()).si);
  const double per_hop = job.op.bytes_per_hop({job.size_B}, job.ranks()).si;
  const int distinct = static_cast<int>(made.channels.size());
  for (int i = 0; i < distinct; ++i) {
    const int blocks = blocks_on(i, distinct, run.taken.blocks);
    if (blocks == 0) continue;
    const activities::ChannelLoad load{per_hop * blocks / run.taken.blocks, run.taken.payload_share,
                                       blocks * run.cost.channel_Bps};
    run.busiest_B = std::max(run.busiest_B, load.bytes);
    run.activities.push_back(
        activities::add_cluster_ring(problem, made, made.channels[static_cast<std::size_t>(i)], closed, load));
  }
  return run;
}

/// The first half of the blocks runs the first tree, their duplicates the second one.
Run prepare_tree(const ClusterJob& job, Run run, activities::ClusterProblem& problem) {
  const Communicator& made = job.communicator;
  const int depth = std::max(activities::tree_depth(made.nodes, 0), activities::tree_depth(made.nodes, 1));
  const double chain = 2 * (static_cast<double>(made.gpus.size()) - 1);
  add_latency(job, run, chain, 2 * depth, 2 * activities::tree_distance_s(job.cluster, made, made.channels.front(), 0));
  const int distinct = static_cast<int>(made.channels.size());
  for (int block = 0; block < std::min(run.taken.blocks, 2 * distinct); ++block) {
    const activities::ChannelLoad load{job.size_B / run.taken.blocks, run.taken.payload_share, run.cost.channel_Bps};
    run.busiest_B = std::max(run.busiest_B, load.bytes);
    const auto ways = activities::add_cluster_tree(
        problem, made, made.channels[static_cast<std::size_t>(block % distinct)], block / distinct, load);
    run.activities.insert(run.activities.end(), ways.begin(), ways.end());
  }
  return run;
}

void read_solution(const ClusterJob& job, const Solution& solution, Run& run) {
  if (run.taken.algorithm == "ring" && !job.op.closed() && run.taken.protocol == "Simple")
    run.stretch = chain_fill(job.size_B, run.taken.blocks, job.op.steps(job.ranks()), job.calls);
  run.flow_s = solution.makespan_s * run.stretch;
  run.limited_by = solution.limited_by;
}

Run prepare(const ClusterJob& job, activities::ClusterProblem& problem) {
  Run run = start(job);
  return run.taken.algorithm == "tree" ? prepare_tree(job, std::move(run), problem)
                                       : prepare_ring(job, std::move(run), problem);
}

Run run_alone(const ClusterJob& job, Solver& solver, activities::ClusterProblem& problem) {
  Run run = prepare(job, problem);
  read_solution(job, solver.run(problem.problem()), run);
  return run;
}

/// What waiting on each hop adds to the latency, as the distances do.
double waits_s(const ClusterJob& job, const Run& run, const activities::HopDelay& wait_s) {
  const Communicator& made = job.communicator;
  if (run.taken.algorithm == "tree")
    return 2 * activities::tree_delay_s(job.cluster, made, made.channels.front(), 0, wait_s);
  const double rounds = job.op.closed() ? 1.0 * job.op.steps(job.ranks()) / job.ranks() : 1.0 / job.calls;
  return rounds * activities::ring_delay_s(job.cluster, made, made.channels.front(), job.op.closed(), wait_s);
}

/// Beside other jobs, and in the noise of those that nobody asked for; with noise, the run of the median draw.
/// @param problem  the run's own. @param out  gets what the others cost, and percentiles
Run run_loaded(const ClusterJob& job, const congestion::NetworkLoad& load, Solver& solver,
               activities::ClusterProblem& problem, Json& out) {
  problem.keep_crossings();
  Run run = run_alone(job, solver, problem);
  congestion::SlowedProblem slowed(problem);
  const Run lone = run;
  const congestion::Slowdown none = [](const NoisyWay&) { return 1; };
  congestion::Slowdown beside = none;
  if (!load.beside.empty()) {
    beside = congestion::slowed_beside({problem, run.flow_s, job.communicator.gpus, job.communicator.nodes}, load, out);
    read_solution(job, solver.run(slowed.slowed(beside)), run);
    out["alone_s"] = lone.time_s();
    out["slowdown"] = run.time_s() / lone.time_s();
  }
  if (!load.noise) return run;
  const Run quiet = run;
  const auto forecast = [&](const Background& background, const Run& without,
                            const congestion::Slowdown& others) -> congestion::SampleTime {
    if (!load.noisy()) return {without.latency_s, without.flow_s};
    const auto slow = [&](const NoisyWay& way) { return others(way) * background.slowdown(way); };
    const auto wait_s = [&](int from, int to) { return background.wait_s(noisy_way(job.cluster.fabric(), from, to)); };
    read_solution(job, solver.run(slowed.slowed(slow)), run);
    run.latency_s = without.latency_s + waits_s(job, without, wait_s);
    return {run.latency_s, run.flow_s};
  };
  const auto draws = [&](const Run& without, const congestion::Slowdown& others) {
    return congestion::draw_samples(
        load, [&](const Background& background) { return forecast(background, without, others); });
  };
  if (!load.beside.empty())
    out["alone_s"] = congestion::percentile(draws(lone, none), 50).time_s();  // in the same noise
  const congestion::SampleTimes times = draws(quiet, beside);
  forecast(Background(*load.noise, load.seed, congestion::percentile(times, 50).sample), quiet, beside);
  if (!load.beside.empty()) out["slowdown"] = congestion::percentile(times, 50).time_s() / out["alone_s"].get<double>();
  congestion::put_percentiles(out, load, times, quiet.time_s());
  return run;
}

/// What limits any of the activities, as keys in the cluster.
std::set<int> limits_of(const Run& run, const activities::ClusterProblem& problem) {
  std::set<int> keys;
  for (const int limit : run.limited_by)
    if (limit != kOwnCap) keys.insert(problem.key(limit));
  return keys;
}

Json result_of(const ClusterJob& job, const Run& run, const std::set<int>& limits) {
  const double time = run.time_s();
  uncertainty::Uncertainty uncertainty;
  uncertainty.add(run.cost.error_s / time);
  uncertainty.add(kClusterError);
  std::set<std::string> bottleneck, nominal;
  for (const int key : limits) {
    bottleneck.insert(job.cluster.id(key));
    if (!job.cluster.calibrated(key)) nominal.insert(job.cluster.id(key));
  }
  Json out;
  uncertainty::put_interval(out, time, uncertainty.around(time));
  put_run(out, job.communicator, job.op, job.size_B, run);
  out["bottleneck"] = bottleneck;
  out["warnings"] =
      Json::array({"latencies of hops between nodes are " + job.communicator.library + "'s assumptions, not measured"});
  if (!run.cost.measured)
    out["warnings"].push_back("base and hop latencies are " + job.communicator.library +
                              "'s assumptions, not measured on " + job.node().topology().name);
  for (const std::string& id : nominal) out["warnings"].push_back("the rate of " + id + " is nominal, not calibrated");
  if (job.communicator.fallback) out["warnings"].push_back(job.communicator.why);
  return out;
}

/// The busiest link is held for longer, and each rank's last message waits: with the run of the median draw.
Run noisy_messages(const MessageAnswer& answer, const congestion::NetworkLoad& load, Json& out) {
  Run run = answer.run;
  const congestion::SampleTimes times =
      congestion::draw_samples(load, [&](const Background& background) -> congestion::SampleTime {
        if (!load.noisy()) return {answer.run.latency_s, answer.run.flow_s};
        const double busy_s = answer.busy->busiest_s([&](const NoisyWay& way) { return background.slowdown(way); });
        double wait_s = 0;
        for (const NoisyWay& way : answer.busy->last()) wait_s = std::max(wait_s, background.wait_s(way));
        return {answer.run.latency_s + wait_s, std::max(answer.run.flow_s, busy_s)};
      });
  run.latency_s = congestion::percentile(times, 50).latency_s;
  run.flow_s = congestion::percentile(times, 50).flow_s;
  congestion::put_percentiles(out, load, times, answer.run.time_s());
  return run;
}

/// Of messages: what limits the last ones, a few of them named where there are many.
Json message_answer(const ClusterJob& job, const congestion::NetworkLoad& load, Solver& solver) {
  if (!(job.algorithm.empty() && job.protocol.empty()))
    throw InputError("op: " + job.op_name + " is made of messages, which take no algorithm and no protocol");
  if (!load.beside.empty())
    throw InputError("beside: " + job.op_name + " is made of messages; other jobs beside it are not modelled");
  MessageAnswer answer = run_messages(job, solver);
  Json percentiles = Json::object();
  if (load.noise) answer.run = noisy_messages(answer, load, percentiles);
  const std::size_t named = std::min(answer.limits.size(), kNamedLimits);
  Json out = result_of(job, answer.run, {answer.limits.begin(), answer.limits.begin() + static_cast<long>(named)});
  out.update(percentiles);
  out["bottlenecks"] = answer.limits.size();
  out["engine"] = answer.engine;
  out["messages"] = static_cast<long>(answer.messages);
  out["classes"] = answer.classes;
  if (!answer.why_direct.empty()) out["why_direct"] = answer.why_direct;
  return out;
}

}  // namespace

AcrossNodes read_nodes(const Cluster& cluster, ObjectReader& r) {
  const AcrossNodes asked{r.required<int>("nodes"), r.required<int>("gpus_per_node")};
  if (asked.nodes < 2 || asked.nodes > cluster.nodes())
    r.fail("nodes",
           "must be 2 to " + std::to_string(cluster.nodes()) + ", as many as the fabric joins; one: give gpus");
  if (asked.gpus_per_node < 1 || asked.gpus_per_node > cluster.node().gpu_count())
    r.fail("gpus_per_node", "must be 1 to " + std::to_string(cluster.node().gpu_count()));
  return asked;
}

std::string usual_library_across(const Calibration& calibration) {
  return libraries().get(calibration.default_library).spans_nodes() ? calibration.default_library : "nccl-2.7";
}

std::string library_across(const Calibration& calibration, ObjectReader& r) {
  return r.optional<std::string>("library").value_or(usual_library_across(calibration));
}

ClusterFlows cluster_collective_flows(ClusterJob job, Solver& solver) {
  ClusterFlows made;
  const auto judge = [&](const Run& run, const std::set<int>& limits) {
    const Json said = result_of(job, run, limits);
    made.spread =
        uncertainty::spread_of({said["time_low_s"].get<double>(), said["time_high_s"].get<double>()}, run.time_s());
    made.warnings = said["warnings"];
  };
  if (!job.op.messages({job.size_B}, 2).empty()) {  // two ranks tell
    job.keep_loads = true;
    MessageAnswer answer = run_messages(job, solver);
    Activity flow{answer.run.latency_s, answer.run.busiest_B};
    flow.rate_cap_Bps = flow.work_B / answer.run.flow_s;
    flow.uses = std::move(answer.loads);
    made.flows.push_back(std::move(flow));
    judge(answer.run, {answer.limits.begin(), answer.limits.end()});
    return made;
  }
  activities::ClusterProblem problem(job.cluster);
  Run run = prepare(job, problem);
  const Solution alone = solver.run(problem.problem());
  read_solution(job, alone, run);
  for (const int index : run.activities) {
    Activity flow = problem.problem().activities[static_cast<std::size_t>(index)];
    const double alone_s = alone.finish_s[static_cast<std::size_t>(index)] * run.stretch;
    if (alone_s > 0) flow.rate_cap_Bps = flow.work_B / alone_s;
    flow.delay_s = run.latency_s;
    for (Use& use : flow.uses) use.constraint = problem.key(use.constraint);
    made.flows.push_back(std::move(flow));
  }
  judge(run, limits_of(run, problem));
  return made;
}

Json cluster_collective_answer(catalogue::Catalogue& catalogue, const std::string& platform_id, Solver& solver,
                               ObjectReader& r) {
  const Cluster& cluster = catalogue.cluster(platform_id);
  const auto op_name = r.required<std::string>("op");
  const auto [nodes, per_node] = read_nodes(cluster, r);
  const double size_B = activities::read_size(r, "size_B");
  const std::string library_id = library_across(cluster.node().calibration(), r);
  const int calls = r.optional<int>("calls").value_or(kUsualCalls);
  if (calls < 1) r.fail("calls", "must be at least 1");
  const auto protocol = r.optional<std::string>("protocol").value_or("");
  const std::string algorithm = r.has("algorithm") ? r.choice("algorithm", {"ring", "tree"}) : "";
  const bool alternatives = r.optional<bool>("alternatives").value_or(false);
  const std::string engine = r.has("engine") ? r.choice("engine", {"direct", "reduced"}) : "";
  const congestion::NetworkLoad load =
      congestion::read_network_load(r, cluster.node().calibration(), catalogue.progress());
  r.finish();
  const auto placed = congestion::place_jobs(cluster, nodes, load);
  const ClusterJob job{placed ? *placed : cluster,
                       libraries().get(library_id),
                       catalogue.communicator_across(platform_id, library_id, nodes, per_node),
                       collectives().get(op_name),
                       op_name,
                       size_B,
                       engine,
                       algorithm,
                       protocol,
                       calls,
                       load.noise.has_value()};
  if (!job.op.messages({size_B}, 2).empty()) return message_answer(job, load, solver);  // two ranks tell
  if (!engine.empty()) throw InputError("engine: " + op_name + " is no operation of messages");
  activities::ClusterProblem problem(job.cluster);
  Json loaded = Json::object();
  const bool in_load = load.noise || !load.beside.empty();
  const Run run = in_load ? run_loaded(job, load, solver, problem, loaded) : run_alone(job, solver, problem);
  Json out = result_of(job, run, limits_of(run, problem));
  out.update(loaded);
  if (alternatives && !in_load) {  // each would need a load of its own
    const auto forecast_s = [&](const TunerEntry& entry) {
      ClusterJob other = job;
      other.algorithm = entry.algorithm;
      other.protocol = entry.protocol;
      activities::ClusterProblem its_own(job.cluster);
      return run_alone(other, solver, its_own).time_s();
    };
    const auto rows = job.library.tuner(job.node(), job.communicator, {op_name, {size_B}, "", "", false});
    add_alternatives(rows, run.taken.algorithm, run.taken.protocol, run.time_s(), forecast_s, out);
  }
  return out;
}

}  // namespace linkcast::collective
