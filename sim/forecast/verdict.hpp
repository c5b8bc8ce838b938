#pragma once
// What simulated copies and messages say about themselves: what limited it, what was assumed, how sure the result is.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/forecast/interval.hpp"
#include "sim/plan/cluster_message.hpp"
#include "sim/plan/transfer.hpp"

namespace linkcast::uncertainty {

struct Verdict {
  std::set<std::string> bottleneck;  ///< constraint ids
  std::set<std::string> warnings;
  double scatter = 0;          ///< largest one of single measurements, of ln(time)
  double parameter_error = 0;  ///< largest relative standard error among the limiting constraints and rates
  double delay_error_s = 0;    ///< largest standard error of a copy's start-up
  bool distant = false;        ///< a message crosses the network
  bool stand_in = false;       ///< a message inside a node, and none was measured
};

/// Constraint that would limit an activity alone, or kOwnCap: for solvers that do not tell which one did.
int tightest(const Problem& problem, const Activity& activity);

/// Adds which parameters of a planned copy stand in for unmeasured ones, and how sure it is.
void judge(const Platform& platform, const activities::PlannedTransfer& plan, double bytes, Verdict& verdict);
void judge(const Cluster& cluster, const activities::PlannedMessage& plan, double bytes, Verdict& verdict);
/// Adds a constraint that limited a copy. @param id  as the answer names it
void judge_limit(const Constraint& limit, const std::string& id, Verdict& verdict);
/// Of all that was judged; time_s > 0.
Uncertainty uncertainty_of(const Verdict& verdict, double time_s);
/// Judges copies that start together, and says how sure their time is.
Uncertainty uncertainty_of(const activities::ProblemBuilder& builder, const Solution& solution,
                           const std::vector<activities::PlannedTransfer>& plans, double bytes, Verdict& verdict);
/// Widens the interval by what copies inside nodes at once do to each other beyond fair sharing, and says so where it
/// is much.
void add_sharing(const std::vector<activities::Transfer>& transfers, Verdict& verdict, Uncertainty& uncertainty);
/// Warns of a size outside the calibrated range, and widens the interval by it.
/// @param grows  the part of the time that grows with the size: only its rate is extrapolated, and the start-up's error
/// is that of its parameter. The rate is never less sure than where nothing was measured
void check_validity(const Platform& platform, double size_B, double grows, Verdict& verdict, Uncertainty& uncertainty);
/// That part of a time, of which some passes before the first byte.
[[nodiscard]] inline double part_that_grows(double latency_s, double time_s) {
  return time_s > 0 ? std::max(0.0, 1 - latency_s / time_s) : 0;
}

void put_interval(Json& out, double time_s, const Interval& interval);

/// Terms as objects of an answer, those that are nothing left out: label, time_s, time_share, spread (of ln(time)),
/// uncertainty_share (of the variance of ln(time); below 0 where it takes back what another adds), source, parameter.
std::vector<Json> explained(const Calibration& calibration, const std::vector<Term>& terms, double time_s);

}  // namespace linkcast::uncertainty
