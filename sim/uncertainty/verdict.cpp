#include "sim/uncertainty/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace linkcast::uncertainty {
namespace {

// Outside the calibrated sizes the error grows. source: assumed, 2 % a doubling
constexpr double kPerDoubling = 0.02;

// Copies that share nothing but a GPU, or share a link fairly. source: 4 H200, 2026-11-21a, patterns of
// calibrate/data/hgx-h200: each way of a pair loses 1.2 % to the other way, and nothing in the model says so
constexpr double kSharing = 0.015;
// Kernels of GPUs that send to several and receive from several others at once. source: the same data, ring_both and
// all_to_all by kernels took 1.1 to 1.7 times as long as max-min fair shares say
constexpr double kMixing = 0.25;

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

}  // namespace

void judge(const activities::ProblemBuilder& builder, const Solution& solution, const activities::PlannedTransfer& plan,
           Verdict& verdict) {
  const Platform& platform = builder.platform();
  for (const Resolved& used : plan.used)
    if (!used.calibrated)
      verdict.warnings.insert(
          platform.calibration().find(used.name)
              ? "start-up of " + plan.model + " copies was not measured: " + used.name + " stands in"
              : "parameter " + used.name + " was not measured on this machine: an assumption stands in");
  if (plan.transport == "staged" && plan.chosen)
    verdict.warnings.insert("staged copies are moved by the runtime: engine and direction have no effect on them");
  verdict.delay_error_s = std::max(verdict.delay_error_s, plan.delay_error_s);
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

Uncertainty uncertainty_of(const activities::ProblemBuilder& builder, const Solution& solution,
                           const std::vector<activities::PlannedTransfer>& plans, double bytes, Verdict& verdict) {
  double scatter = 0;
  for (const activities::PlannedTransfer& plan : plans) {
    judge(builder, solution, plan, verdict);
    scatter = std::max(scatter, scatter_of(builder.platform().calibration(), plan.model, bytes));
  }
  Uncertainty uncertainty;
  uncertainty.add(scatter);
  uncertainty.add(verdict.parameter_error);
  uncertainty.add(verdict.delay_error_s / solution.makespan_s);
  return uncertainty;
}

void add_sharing(const std::vector<activities::Transfer>& transfers, Verdict& verdict, Uncertainty& uncertainty) {
  if (transfers.size() < 2) return;
  uncertainty.add(kSharing);
  std::map<int, std::set<int>> targets, sources;
  for (const activities::Transfer& t : transfers) {
    if (t.by != activities::MoveBy::kSm || t.source == t.target) continue;
    targets[t.source].insert(t.target);
    sources[t.target].insert(t.source);
  }
  for (const auto& [gpu, out] : targets) {
    if (out.size() < 2 || sources[gpu].size() < 2) continue;
    uncertainty.add(kMixing);
    verdict.warnings.insert(
        "kernels of one GPU exchange with several others at once: such traffic took 1.1 to 1.7 times as long as "
        "fair sharing says on the machine where it was measured");
    return;
  }
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

Json link_ids(const Platform& platform, const std::vector<int>& links) {
  Json ids = Json::array();
  for (const int link : links) ids.push_back(platform.constraints()[static_cast<std::size_t>(link)].id);
  return ids;
}

}  // namespace linkcast::uncertainty
