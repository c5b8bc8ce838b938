#include "sim/forecast/collective_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/engine/many_flows.hpp"
#include "sim/forecast/copy_terms.hpp"
#include "sim/forecast/host_path.hpp"
#include "sim/forecast/near_ties.hpp"
#include "sim/forecast/schedule_forecast.hpp"

namespace linkcast::collective {

namespace term = uncertainty::term;
using uncertainty::Term;

namespace {

// Part of the time that other communicators add. source: puts 30 of 32 points of 4 H200 into the 90 % interval, where
// 0.3 puts 25 (calibrate/data/hgx-h200/20261121e-nccl_contention.json); copies by kernels took 1.0 to 1.7 times what
// fair shares say (copy_terms.cpp)
constexpr double kContentionError = 0.45;
// The same where one of them crosses the fabric, which nobody measured. source: assumed, more than in a node
constexpr double kClusterContentionError = 0.6;
// Several GPUs' hops through the memory of one CPU, where that was never measured. source: 4 H200, whose memory makes
// all_reduce and all_gather 10 to 26 % longer than their cables do; other CPUs have more or less
constexpr double kHostMemoryError = 0.15;
constexpr double kSlowdownWorthSaying = 0.01;  // source: ours, half of the tightest target of a collective's forecast
constexpr double kRounding = 1e-12;            // source: ours, of the time: far above what sums of doubles lose
constexpr std::size_t kNamedLimits = 8;        // ours: links named as bottleneck of an operation of many messages

/// Serialisation on the links: the largest error of a rate that limits, without seconds.
Term term_of_links(const CollectiveJob& job, const CollectiveRun& run, double flow_share) {
  Term links{term::kSerialisation, 0, ErrorPart(0.0), {}};
  for (const int limit : run.limited_by) {
    if (limit == kOwnCap) continue;
    const double error = job.machine.rel_error(limit) * flow_share;
    if (!links.source.empty() && error <= links.spread.sigma) continue;
    links.spread = ErrorPart(error);
    links.source = uncertainty::rate_source(job.machine, limit);
  }
  return links;
}

/// Latencies before the bytes, and of the fabric beyond the nearest nodes.
std::vector<Term> latencies_of(const CollectiveRun& run, double time_s) {
  const CollectivePlan& plan = run.plan;
  std::vector<Term> terms;
  double beyond_s = plan.latency_s + plan.hidden_s;
  for (Term part : plan.latency_terms) {
    part.spread = part.spread.times(1 / time_s);
    beyond_s -= part.seconds;
    terms.push_back(part);
  }
  if (plan.hidden_s > 0) {  // by hops between nodes
    const double both_s = plan.between_s + run.flow_s - plan.hidden_s;
    terms.back().spread = terms.back().spread.times(plan.between_s / both_s);
    terms.back().seconds -= plan.hidden_s;
  }
  // Hops that pass while bytes flow are no part of the time: a schedule's, or more of them where there is noise.
  for (auto part = terms.rbegin(); part != terms.rend() && beyond_s < -kRounding * time_s; ++part) {
    const double hidden_s = std::min(part->seconds, -beyond_s);
    part->seconds -= hidden_s;
    beyond_s += hidden_s;
  }
  if (beyond_s > kRounding * time_s) terms.push_back({term::kDistance, beyond_s, {}, uncertainty::kAssumed});
  return terms;
}

/// Parts of the time and its spreads by parameter: derivatives of the time by their logarithms. Of hops that pass while
/// bytes flow (CollectivePlan::hidden_s) both count by their squares. The bytes take the time that the first of the
/// rates gives them, that of links before that of thread blocks. @param waited_s  of their time, for other collectives
std::vector<Term> parts_of(const CollectiveJob& job, const CollectiveRun& run, double waited_s) {
  const CollectivePlan& plan = run.plan;
  const double time_s = run.own_s(), both_s = plan.between_s + run.flow_s - plan.hidden_s;
  const double flow_s = plan.hidden_s > 0 ? run.flow_s * run.flow_s / both_s : run.flow_s;
  std::vector<Term> terms = latencies_of(run, time_s);
  const std::size_t latencies = terms.size();
  if (const Term links = term_of_links(job, run, flow_s / time_s); !links.source.empty()) terms.push_back(links);
  const auto add = [&](Figure of, double share) {
    for (Term part : plan.cost.terms(of)) {
      part.spread = part.spread.times(-share * flow_s / time_s);
      terms.push_back(part);
    }
  };
  add(Figure::kLinks, 1);
  add(Figure::kGrowth, -1);
  const bool limited = std::find(run.limited_by.begin(), run.limited_by.end(), kOwnCap) != run.limited_by.end();
  if (const double blocks = plan.choice.runs().block_share(job, plan, limited); blocks > 0)
    add(plan.cost.network_Bps < plan.cost.channel_Bps ? Figure::kNetwork : Figure::kBlock, blocks);
  if (terms.size() == latencies) terms.push_back({term::kSerialisation, 0, {}, uncertainty::kAssumed});
  const double alone_s = run.flow_s - waited_s, filling_s = alone_s - alone_s / run.stretch;
  terms[latencies].seconds += alone_s - filling_s;
  const std::string_view source = terms[latencies].source;
  if (filling_s > kRounding * time_s) terms.push_back({term::kFilling, filling_s, {}, source});
  if (waited_s > 0) terms.push_back({term::kContention, waited_s, {}, uncertainty::kAssumed});
  return terms;
}

/// Whether hops of more than two GPUs go through the memory of a CPU of which nothing is known.
bool memory_unknown(const CollectiveJob& job) {
  const Platform& node = job.node();
  if (job.of_rounds() || job.communicator.gpus.size() <= 2 || !through_host(job.communicator)) return false;
  return node.host_memory(node.socket_of(node.gpu(job.communicator.gpus.front()))).both < 0;
}

/// All terms of a run, as the devices take it. @param waited_s  of its time, for other collectives
uncertainty::Terms terms_of(const CollectiveJob& job, const CollectiveRun& run, double waited_s = 0) {
  std::set<std::string> warnings;
  if (run.scheduled) return terms_of_rounds(job, run, waited_s, warnings);
  const Calibration& calibration = job.node().calibration();
  uncertainty::Terms terms(calibration, run.own_s());
  terms.add(parts_of(job, run, waited_s));
  const uncertainty::Kind kind = misfit_kind(job, false);
  terms.add(term::kMisfit, uncertainty::misfit_of(calibration, kind, job.size_B),
            uncertainty::misfit_source(calibration, kind));
  if (memory_unknown(job)) terms.add(term::kHostPath, kHostMemoryError);
  terms.add(term::kMisfit, run.plan.choice.runs().unmeasured_spread(job));
  terms.bound(run.wire_s);
  for (const CollectiveRun& one : run.instead) terms.mix(one.share, one.time_s(), terms_of(job, one).interval());
  if (run.choice != 1) terms.choose(run.row * run.own_s(), run.time_s());
  return terms;
}

void set_terms(const uncertainty::Terms& terms, CollectiveForecast& forecast) {
  forecast.device_s = terms.device_s();
  forecast.time_s = terms.time_s();
  forecast.interval = terms.interval();
  forecast.terms = terms.list();
}

/// What limits it where no link does. A time that is half start-up is limited by it, as that of a copy.
std::string limit_of_no_link(const CollectiveRun& run) {
  if (2 * run.plan.latency_s >= run.own_s()) return "start-up";
  return run.limited_by.empty() ? "" : "thread blocks";  // empty: the solver cannot tell
}

/// Keys that limit it, a few of them where there are many messages between nodes; of activities limited by their hops
/// through host memory the links of those hops.
std::set<std::string> bottleneck_of(const CollectiveJob& job, const CollectiveRun& run) {
  std::set<std::string> names;
  const std::size_t named = run.messages ? std::min(run.limited_by.size(), kNamedLimits) : run.limited_by.size();
  for (std::size_t i = 0; i < named; ++i) {
    if (run.limited_by[i] != kOwnCap) {
      names.insert(name_of(job, run.limited_by[i]));
    } else if (i < run.plan.hops.size()) {
      for (std::string& link : host_links(job.node(), run.plan.hops[i])) names.insert(std::move(link));
    }
  }
  return names;
}

std::set<std::string> nominal_rates(const CollectiveJob& job, const CollectiveRun& run, std::size_t named) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < std::min(run.limited_by.size(), named); ++i)
    if (run.limited_by[i] != kOwnCap && !job.machine.calibrated(run.limited_by[i]))
      names.insert(name_of(job, run.limited_by[i]));
  return names;
}

/// "near tie: ..."; empty: none.
std::string near_tie(const CollectiveJob& job, const CollectiveRun& run) {
  std::string others;
  for (const CollectiveRun& one : run.instead) {
    if (one.share < kLeastShare) continue;
    others += fmt::format("{}{} {} ({:.0f} % likely, {})", others.empty() ? "" : ", ", one.plan.choice.algorithm,
                          one.plan.choice.protocol, 100 * one.share, to_text(Seconds{job.launched_s(one.time_s())}));
  }
  if (others.empty()) return "";
  return fmt::format("near tie: the library may choose {} instead of {} {}; NCCL_ALGO and NCCL_PROTO decide it", others,
                     run.plan.choice.algorithm, run.plan.choice.protocol);
}

/// What was assumed: latencies, nominal rates, a ring through host memory.
/// @param named  so many of the limits are looked at
std::vector<std::string> warnings_of(const CollectiveJob& job, const CollectiveRun& run, std::size_t named) {
  const std::string& library = job.communicator.name();
  std::vector<std::string> warnings;
  if (!run.plan.choice.why.empty()) warnings.push_back(run.plan.choice.why);
  if (!job.one_node()) {
    const std::string& machine = job.node().topology().name;
    const bool links = job.node().transports().network_measured(), hops = run.plan.cost.measured(Figure::kNetworkHop);
    if (!links)
      warnings.push_back(fmt::format(
          "nothing between nodes of {} was measured: adapters and cables have {:.0f} % of their nominal rates{}",
          machine, 100 * kUnmeasuredShare, hops ? "" : ", start-up and pace of hops are assumed after " + library));
    else if (!hops)
      warnings.push_back("no collective between nodes of " + machine +
                         " was measured: start-up and pace of hops are assumed after " + library);
  }
  if (!run.plan.cost.measured(Figure::kBase))
    warnings.push_back("base and hop latencies are " + library + "'s assumptions, not measured on " +
                       job.node().topology().name);
  for (const std::string& name : nominal_rates(job, run, named))
    warnings.push_back("the rate of " + name + " is nominal, not calibrated");
  for (std::string& warning : run.plan.choice.runs().warnings(job, run.plan)) warnings.push_back(std::move(warning));
  if (std::string tie = near_tie(job, run); !tie.empty()) warnings.push_back(std::move(tie));
  if (job.communicator.fallback) warnings.push_back(job.communicator.why);
  if (memory_unknown(job))
    warnings.push_back("what several GPUs together get of host memory was never measured on " +
                       job.node().topology().name + ": assumed to be no limit");
  if (run.messages && run.messages->shared_late) warnings.emplace_back(kSharedLate);
  if (run.messages && run.messages->most_ways > 0)
    warnings.push_back("of the ways between two cards " + std::to_string(run.messages->most_ways) +
                       " of each kind stand for all");
  return warnings;
}

/// Numbers in their nodes of GPUs in several communicators: empty if there are none.
std::string in_several(const std::vector<CollectiveJob>& jobs) {
  std::set<std::pair<int, int>> seen;
  std::set<int> several;
  for (const CollectiveJob& job : jobs)
    for (const int node : nodes_of(job))
      for (const int gpu : job.communicator.gpus)
        if (!seen.insert({node, gpu}).second) several.insert(gpu);
  std::string gpus;
  for (const int gpu : several) gpus += (gpus.empty() ? "" : ", ") + std::to_string(gpu);
  return gpus;
}

/// What others add to the error and to what has to be said.
void add_contention(const std::vector<CollectiveJob>& jobs, const Contended& first, bool nodes,
                    CollectiveForecast& forecast) {
  const double waited_s = std::max(0.0, first.together.flow_s - first.alone.flow_s);
  uncertainty::Terms terms = terms_of(jobs.front(), first.together, waited_s);
  terms.add(term::kContention, (nodes ? kClusterContentionError : kContentionError) * (1 - 1 / first.slowdown()));
  jobs.front().launching.issue(terms);
  set_terms(terms, forecast);
  if (first.shared_late) forecast.warnings.emplace_back(kSharedLate);
  const std::string several = in_several(jobs);
  if (!several.empty())
    forecast.warnings.push_back("GPUs in several communicators (" + several +
                                "): their kernels are assumed to run at once, with room for all thread blocks");
  if (first.slowdown() > 1 + kSlowdownWorthSaying)
    forecast.warnings.push_back(
        std::string("communicators are assumed to share links fairly: measured on 4 H100 and H200 only") +
        (nodes ? ", never between nodes" : "") +
        ", with calls of equal size, where forecasts were 5 % off (median), 16 % at the 95th percentile");
}

/// Where the devices wait for the host no link limits it.
void add_host(const CollectiveJob& job, CollectiveForecast& forecast) {
  if (job.launching.host_bound(forecast.device_s)) {
    forecast.bottleneck.clear();
    forecast.limited_by = "host";
  }
  const std::string warning = job.launching.warning(job.node().topology().name, forecast.device_s);
  if (!warning.empty()) forecast.warnings.push_back(warning);
}

/// Warns of figures of other machines, where this one has others of its own.
void add_inherited(const CollectiveJob& job, CollectiveForecast& forecast) {
  const std::string warning = uncertainty::inherited_warning(job.node().calibration(), job.node().topology().name,
                                                             forecast.terms, forecast.time_s);
  if (!warning.empty()) forecast.warnings.push_back(warning);
}

CollectiveForecast::Messages facts_of(const MessageAnswer& answer) {
  const auto links =
      answer.limits.size() - static_cast<std::size_t>(std::count(answer.limits.begin(), answer.limits.end(), kOwnCap));
  return {links, answer.engine, answer.messages, answer.classes, answer.why_direct};
}

}  // namespace

std::vector<std::string> host_links(const Platform& platform, const std::vector<Hop>& hops) {
  std::set<std::string> ids;
  for (const Hop& hop : hops) {
    if (hop.kind != HopKind::kHostMemory) continue;
    const activities::StagedRoute route =
        activities::staged_route(platform, platform.gpu(hop.from), platform.gpu(hop.to));
    for (const auto* leg : {&route.up, &route.down})
      for (const int link : *leg) ids.insert(platform.constraints()[at(link)].id);
  }
  return {ids.begin(), ids.end()};
}

uncertainty::Interval interval_of(const CollectiveJob& job, const CollectiveRun& run) {
  return terms_of(job, run).interval();
}

CollectiveForecast forecast_of(const CollectiveJob& job, const CollectiveRun& run) {
  if (run.scheduled) return forecast_of_rounds(job, run);
  const Communicator& communicator = job.communicator;
  CollectiveForecast forecast;
  forecast.launching = job.launching;
  uncertainty::Terms terms = terms_of(job, run);
  job.launching.issue(terms);
  set_terms(terms, forecast);
  forecast.latency_s = run.choice * run.plan.latency_s;
  forecast.size_B = job.size_B;
  forecast.bus_factor = job.op.bus_factor(job.ranks());
  forecast.library = communicator.name();
  forecast.algorithm = run.plan.choice.algorithm;
  forecast.protocol = run.plan.choice.protocol;
  forecast.nodes = communicator.nodes;
  forecast.gpus_per_node = static_cast<int>(communicator.gpus.size());
  forecast.channels = run.plan.choice.runs().orders(communicator);
  forecast.blocks = run.plan.choice.blocks;
  if (run.flow_s > 0) forecast.channel_Bps = run.plan.busiest_B / run.flow_s;
  forecast.path_class = communicator.path_class;
  forecast.fallback = communicator.fallback;
  const std::set<std::string> bottleneck = bottleneck_of(job, run);
  forecast.bottleneck.assign(bottleneck.begin(), bottleneck.end());
  if (bottleneck.empty()) forecast.limited_by = limit_of_no_link(run);
  forecast.warnings = warnings_of(job, run, run.messages ? kNamedLimits : run.limited_by.size());
  if (run.messages) forecast.messages = facts_of(*run.messages);
  add_inherited(job, forecast);
  add_host(job, forecast);
  return forecast;
}

CollectiveForecast forecast_together(const std::vector<CollectiveJob>& jobs, const std::vector<Contended>& all) {
  const Contended& first = all.front();
  const bool nodes = std::any_of(jobs.begin(), jobs.end(),
                                 [](const CollectiveJob& job) { return nodes_of(job) != std::vector<int>{0}; });
  CollectiveForecast forecast = forecast_of(jobs.front(), first.together);
  forecast.beside = {jobs.front().launched_s(first.alone.time_s()), {}};
  for (std::size_t i = 1; i < all.size(); ++i)
    forecast.beside->others.push_back({jobs[i].op_name, jobs[i].communicator.gpus,
                                       nodes ? nodes_of(jobs[i]) : std::vector<int>{}, jobs[i].size_B,
                                       jobs[i].communicator.library, jobs[i].launched_s(all[i].together.time_s()),
                                       jobs[i].launched_s(all[i].alone.time_s())});
  add_contention(jobs, first, nodes, forecast);
  return forecast;
}

activities::Plan forecast_to_share(const CollectiveJob& job, Solver& solver) {
  SharedRun shared = run_to_share(job, solver);
  const CollectiveRun& run = shared.run;
  shared.plan.spread = uncertainty::spread_of(interval_of(job, run), run.time_s());
  std::vector<std::string> warnings =
      run.scheduled ? forecast_of_rounds(job, run).warnings : warnings_of(job, run, run.limited_by.size());
  shared.plan.warnings.insert(warnings.begin(), warnings.end());
  return std::move(shared.plan);
}

}  // namespace linkcast::collective
