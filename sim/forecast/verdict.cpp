#include "sim/forecast/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/index.hpp"

namespace linkcast::uncertainty {
namespace {

// Copies that share nothing but a GPU, or share a link fairly. source: 4 H200, 2026-11-21a, patterns of
// calibrate/data/hgx-h200: each way of a pair loses 1.2 % to the other way, and nothing in the model says so
constexpr double kSharing = 0.015;
// Kernels of GPUs that send to several and receive from several others at once. source: the same data, ring_both and
// all_to_all by kernels took 1.1 to 1.7 times as long as max-min fair shares say
constexpr double kMixing = 0.25;

// The curve of a message was measured between two nodes next to each other; other pairs of the same distance scatter.
// source: paper 002 (SC24), section V-B1: 3.7 to 5.7 us under one switch on the same system
constexpr double kPairError = 0.1;
// Of a start-up that stands in. source: as kStandInError of transfer.cpp
constexpr double kMessageStandInError = 0.3;

}  // namespace

int tightest(const Problem& problem, const Activity& activity) {
  double rate = activity.rate_cap_Bps;
  int limit = kOwnCap;
  for (const Use& use : activity.uses) {
    const double share = problem.capacity_Bps[at(use.constraint)] / use.weight;
    if (share >= rate) continue;
    rate = share;
    limit = use.constraint;
  }
  return limit;
}

void judge(const Platform& platform, const activities::PlannedTransfer& plan, double bytes, Verdict& verdict) {
  for (const Resolved& used : plan.used)
    if (!used.calibrated)
      verdict.warnings.insert(
          platform.calibration().find(used.name)
              ? "start-up of " + plan.model + " copies was not measured: " + used.name + " stands in"
              : "parameter " + used.name + " was not measured on this machine: an assumption stands in");
  if (plan.transport == "staged" && plan.chosen)
    verdict.warnings.insert("staged copies are moved by the runtime: engine and direction have no effect on them");
  verdict.scatter = std::max(verdict.scatter, scatter_of(platform.calibration(), plan.model, bytes));
  verdict.delay_error_s = std::max(verdict.delay_error_s, plan.delay_error_s);
}

void judge(const Cluster& cluster, const activities::PlannedMessage& plan, double bytes, Verdict& verdict) {
  const Platform& node = cluster.node();
  verdict.scatter = std::max(verdict.scatter, scatter_of(node.calibration(), plan.transport, bytes));
  verdict.parameter_error = std::max(verdict.parameter_error, plan.rate_error);
  verdict.delay_error_s = std::max(verdict.delay_error_s, plan.delay_error_s);
  verdict.distant = verdict.distant || !plan.distance.empty();
  if (!plan.warning.empty()) verdict.warnings.insert(plan.warning);
  if (!plan.stand_in) return;
  verdict.stand_in = true;
  verdict.warnings.insert(
      "no message inside a node of " + node.topology().name +
      " of this size was measured: what its steps take on other machines and the rates of links stand in");
}

void judge_limit(const Constraint& limit, const std::string& id, Verdict& verdict) {
  verdict.bottleneck.insert(id);
  verdict.parameter_error = std::max(verdict.parameter_error, limit.capacity.rel_error);
  if (!limit.capacity.calibrated) verdict.warnings.insert("the rate of " + id + " is nominal, not calibrated");
}

Uncertainty uncertainty_of(const Verdict& verdict, double time_s) {
  Uncertainty uncertainty;
  uncertainty.add(term::kMisfit, verdict.scatter, kScatter);
  uncertainty.add(term::kSerialisation, verdict.parameter_error, kMeasured);
  uncertainty.add(term::kBase, verdict.delay_error_s / time_s, kMeasured);
  if (verdict.distant) uncertainty.add(term::kDistance, kPairError);
  if (verdict.stand_in) uncertainty.add(term::kMisfit, kMessageStandInError);
  return uncertainty;
}

Uncertainty uncertainty_of(const activities::ProblemBuilder& builder, const Solution& solution,
                           const std::vector<activities::PlannedTransfer>& plans, double bytes, Verdict& verdict) {
  const std::vector<Constraint>& constraints = builder.platform().constraints();
  for (const activities::PlannedTransfer& plan : plans) {
    judge(builder.platform(), plan, bytes, verdict);
    int limit = solution.limited_by.empty()
                    ? tightest(builder.problem(), builder.problem().activities[at(plan.main_activity)])
                    : solution.limited_by[at(plan.main_activity)];
    if (limit == kOwnCap) limit = plan.cap_link;
    if (limit >= 0) judge_limit(constraints[at(limit)], constraints[at(limit)].id, verdict);
  }
  return uncertainty_of(verdict, solution.makespan_s);
}

void add_sharing(const std::vector<activities::Transfer>& transfers, Verdict& verdict, Uncertainty& uncertainty) {
  if (transfers.size() < 2) return;
  uncertainty.add(term::kContention, kSharing, kMeasured);
  std::map<int, std::set<int>> targets, sources;
  for (const activities::Transfer& t : transfers) {
    if (t.by != activities::MoveBy::kSm || t.source == t.target) continue;
    targets[t.source].insert(t.target);
    sources[t.target].insert(t.source);
  }
  for (const auto& [gpu, out] : targets) {
    if (out.size() < 2 || sources[gpu].size() < 2) continue;
    uncertainty.add(term::kContention, kMixing);
    verdict.warnings.insert(
        "kernels of one GPU exchange with several others at once: such traffic took 1.1 to 1.7 times as long as "
        "fair sharing says on the machine where it was measured");
    return;
  }
}

void check_validity(const Platform& platform, double size_B, double grows, Verdict& verdict, Uncertainty& uncertainty) {
  const Calibration& calibration = platform.calibration();
  if (size_B <= calibration.valid_to_B && size_B >= calibration.valid_from_B) return;
  const bool above = size_B > calibration.valid_to_B;
  verdict.warnings.insert("size is " + std::string(above ? "above" : "below") + " the calibrated range " +
                          to_text(Bytes{calibration.valid_from_B}) + " to " + to_text(Bytes{calibration.valid_to_B}) +
                          ": extrapolated");
  const double some_B = std::max(1.0, size_B);  // nothing is as far away as one byte
  const double doublings = std::abs(std::log2(some_B / (above ? calibration.valid_to_B : calibration.valid_from_B)));
  uncertainty.add(term::kMisfit, grows * scatter_beyond_sizes(calibration, doublings));
}

std::vector<Json> explained(const Calibration& calibration, const std::vector<Term>& terms, double time_s) {
  const std::size_t count = terms.size();
  std::vector<double> shares(count, 0);
  double variance = 0;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j) {
      const ErrorPart &a = terms[i].spread, &b = terms[j].spread;
      const double both =
          a.sigma * b.sigma * (i == j ? 1 : calibration.correlation.between(a.correlated, b.correlated));
      shares[i] += both;
      variance += both;
    }
  std::vector<Json> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const Term& one = terms[i];
    if (one.seconds == 0 && one.spread.sigma == 0) continue;
    rows.push_back({{"label", one.label},
                    {"time_s", one.seconds},
                    {"time_share", one.seconds / time_s},
                    {"spread", std::abs(one.spread.sigma)},
                    {"uncertainty_share", variance > 0 ? shares[i] / variance : 0}});
    if (!one.source.empty()) rows.back()["source"] = one.source;
    if (one.parameter != nullptr)
      rows.back()["parameter"] = std::string(one.parameter->subject) + "." + std::string(one.parameter->what);
  }
  return rows;
}

void put_interval(Json& out, double time, const Interval& interval) {
  out["time_s"] = time;
  out["time_low_s"] = interval.low_s;
  out["time_high_s"] = interval.high_s;
}

}  // namespace linkcast::uncertainty
