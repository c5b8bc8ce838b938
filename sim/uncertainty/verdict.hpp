#pragma once
// What a simulated copy says about itself: what limited it, what was assumed, how sure the result is.
#include <set>
#include <string>
#include <vector>

#include "sim/activities/transfer.hpp"
#include "sim/records/object_reader.hpp"
#include "sim/uncertainty/interval.hpp"

namespace linkcast::uncertainty {

struct Verdict {
  std::set<std::string> bottleneck;  ///< constraint ids
  std::set<std::string> warnings;
  double parameter_error = 0;  ///< largest relative standard error among the limiting constraints
  double delay_error_s = 0;    ///< largest standard error of a copy's start-up
};

/// Adds what limited a planned transfer and which of its parameters stand in for unmeasured ones.
void judge(const activities::ProblemBuilder& builder, const Solution& solution, const activities::PlannedTransfer& plan,
           Verdict& verdict);
/// Judges copies that start together, and says how sure their time is.
Uncertainty uncertainty_of(const activities::ProblemBuilder& builder, const Solution& solution,
                           const std::vector<activities::PlannedTransfer>& plans, double bytes, Verdict& verdict);
/// Widens the interval by what copies at once do to each other beyond fair sharing, and says so where it is much.
void add_sharing(const std::vector<activities::Transfer>& transfers, Verdict& verdict, Uncertainty& uncertainty);
/// Warns of a size outside the calibrated range, and widens the interval by it.
void check_validity(const Platform& platform, double size_B, Verdict& verdict, Uncertainty& uncertainty);

Json link_ids(const Platform& platform, const std::vector<int>& links);
void put_interval(Json& out, double time_s, const Interval& interval);

}  // namespace linkcast::uncertainty
