#include "sim/engine/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "sim/base/input_error.hpp"

namespace linkcast {
namespace {

// source: our choice for the physics suite, far below any measured effect: relative 1e-9 or 1 ps an event
constexpr double kRelative = 1e-9;
constexpr double kEventSlack_s = 1e-12;

[[noreturn]] void fail(const char* noun, std::size_t index, const std::string& what) {
  throw InvariantError(fmt::format("{} {}: {}", noun, index, what));
}

std::string exact(double value) {
  char text[32];  // source: 17 digits, sign, point and exponent need 24 characters
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

bool in_range(int index, std::size_t count) { return index >= 0 && static_cast<std::size_t>(index) < count; }

/// Remembers by whom each index was last listed, so that a second listing shows.
class Duplicates {
 public:
  explicit Duplicates(std::size_t count) : last_(count, -1) {}
  bool add(int index, std::size_t by) {
    auto& last = last_[static_cast<std::size_t>(index)];
    if (last == static_cast<int>(by)) return false;
    last = static_cast<int>(by);
    return true;
  }

 private:
  std::vector<int> last_;
};

void check_quantities(const Activity& activity, std::size_t index) {
  if (!(activity.delay_s >= 0) || std::isinf(activity.delay_s)) {
    fail("activity", index, "delay_s is " + exact(activity.delay_s) + ", allowed: >= 0");
  }
  if (!(activity.work_B >= 0) || std::isinf(activity.work_B)) {
    fail("activity", index, "work_B is " + exact(activity.work_B) + ", allowed: >= 0");
  }
  if (!(activity.rate_cap_Bps > 0)) {
    fail("activity", index, "rate_cap_Bps is " + exact(activity.rate_cap_Bps) + ", allowed: > 0");
  }
}

/// @param by  number of who uses them, among all that do
void check_uses(const Problem& problem, const char* noun, std::size_t index, const std::vector<Use>& uses,
                std::size_t by, Duplicates& seen) {
  for (const Use& use : uses) {
    if (!in_range(use.constraint, problem.capacity_Bps.size())) {
      fail(noun, index, fmt::format("uses constraint {} of {}", use.constraint, problem.capacity_Bps.size()));
    }
    if (!(use.weight > 0) || std::isinf(use.weight)) {
      fail(noun, index, "weight is " + exact(use.weight) + ", allowed: > 0");
    }
    if (!seen.add(use.constraint, by)) {
      fail(noun, index, fmt::format("uses constraint {} twice", use.constraint));
    }
  }
}

/// Trunks first: what activities use by themselves is then known to be of no trunk.
void check_all_uses(const Problem& problem) {
  Duplicates seen(problem.capacity_Bps.size());
  std::vector<char> of_trunks(problem.trunks.empty() ? 0 : problem.capacity_Bps.size(), 0);
  for (std::size_t t = 0; t < problem.trunks.size(); ++t) {
    check_uses(problem, "trunk", t, problem.trunks[t], t, seen);
    for (const Use& use : problem.trunks[t]) of_trunks[static_cast<std::size_t>(use.constraint)] = 1;
  }
  for (std::size_t a = 0; a < problem.activities.size(); ++a) {
    const Activity& activity = problem.activities[a];
    check_uses(problem, "activity", a, activity.uses, problem.trunks.size() + a, seen);
    if (activity.trunk != kNoTrunk && !in_range(activity.trunk, problem.trunks.size()))
      fail("activity", a, fmt::format("uses trunk {} of {}", activity.trunk, problem.trunks.size()));
    if (of_trunks.empty()) continue;
    for (const Use& use : activity.uses)
      if (of_trunks[static_cast<std::size_t>(use.constraint)] != 0)
        fail("activity", a, fmt::format("uses constraint {}, which is of trunks", use.constraint));
  }
}

void check_waits(const Problem& problem, std::size_t index, Duplicates& seen) {
  for (const int before : problem.activities[index].after) {
    if (!in_range(before, problem.activities.size())) {
      fail("activity", index, fmt::format("waits for activity {} of {}", before, problem.activities.size()));
    }
  }
  for (const int queue : problem.activities[index].queues) {
    if (!in_range(queue, static_cast<std::size_t>(std::max(problem.queue_count, 0)))) {
      fail("activity", index, fmt::format("uses queue {} of {}", queue, problem.queue_count));
    }
    if (!seen.add(queue, index)) {
      fail("activity", index, fmt::format("lists queue {} twice", queue));
    }
  }
}

double wire_bound_s(const Problem& problem, const Activity& activity) {
  double flow_s = activity.work_B / activity.rate_cap_Bps;
  for (const Use& use : activity.uses) {
    const double capacity_Bps = problem.capacity_Bps[static_cast<std::size_t>(use.constraint)];
    flow_s = std::max(flow_s, activity.work_B * use.weight / capacity_Bps);
  }
  return activity.delay_s + flow_s;
}

/// Per trunk the seconds that its tightest constraint needs for a byte.
std::vector<double> trunk_bounds_s(const Problem& problem) {
  std::vector<double> bounds_s;
  for (const std::vector<Use>& trunk : problem.trunks) {
    bounds_s.push_back(0);
    for (const Use& use : trunk)
      bounds_s.back() =
          std::max(bounds_s.back(), use.weight / problem.capacity_Bps[static_cast<std::size_t>(use.constraint)]);
  }
  return bounds_s;
}

/// @param byte_s  seconds that its trunk needs for a byte
void check_activity(const Problem& problem, const Solution& solution, std::size_t index, double byte_s) {
  const Activity& activity = problem.activities[index];
  const double start_s = solution.start_s[index];
  const double finish_s = solution.finish_s[index];
  const double slack_s = kEventSlack_s * (1 + solution.makespan_s);
  if (!(start_s >= 0) || !(finish_s >= start_s) || !(finish_s <= solution.makespan_s)) {
    fail("activity", index,
         "never finished: start " + exact(start_s) + " s, finish " + exact(finish_s) + " s, makespan " +
             exact(solution.makespan_s));
  }
  const double bound_s = std::max(wire_bound_s(problem, activity), activity.delay_s + activity.work_B * byte_s);
  if (finish_s - start_s < bound_s * (1 - kRelative) - slack_s) {
    fail("activity", index, "took " + exact(finish_s - start_s) + " s, its wires need " + exact(bound_s) + " s");
  }
}

void check_predecessors(const Problem& problem, const Solution& solution, std::size_t index) {
  const double latest_s = solution.start_s[index] + kEventSlack_s * (1 + solution.makespan_s);
  for (const int before : problem.activities[index].after)
    if (latest_s < solution.finish_s[static_cast<std::size_t>(before)])
      fail("activity", index, fmt::format("started before its predecessor {} ended", before));
}

void check_sizes(const Problem& problem, const Solution& solution) {
  const std::size_t activities = problem.activities.size();
  if (solution.start_s.size() != activities || solution.finish_s.size() != activities ||
      solution.carried_B.size() != problem.capacity_Bps.size() || solution.limited_by.size() != activities) {
    throw InvariantError("solution does not match its problem: wrong number of entries");
  }
}

}  // namespace

void check_problem(const Problem& problem) {
  for (std::size_t c = 0; c < problem.capacity_Bps.size(); ++c) {
    const double capacity_Bps = problem.capacity_Bps[c];
    if (!(capacity_Bps > 0) || std::isinf(capacity_Bps)) {
      fail("constraint", c, "capacity_Bps is " + exact(capacity_Bps) + ", allowed: > 0 and finite");
    }
  }
  check_all_uses(problem);
  Duplicates queues(static_cast<std::size_t>(std::max(problem.queue_count, 0)));
  for (std::size_t a = 0; a < problem.activities.size(); ++a) {
    check_quantities(problem.activities[a], a);
    check_waits(problem, a, queues);
  }
}

void check_solution(const Problem& problem, const Solution& solution) {
  check_sizes(problem, solution);
  std::vector<ConstraintLoad> loads(problem.capacity_Bps.size());
  const std::vector<double> bounds_s = trunk_bounds_s(problem);
  std::vector<double> trunks_B(problem.trunks.size(), 0);
  std::vector<int> flows(problem.trunks.size(), 0);
  for (std::size_t a = 0; a < problem.activities.size(); ++a) {
    const Activity& activity = problem.activities[a];
    const auto trunk = static_cast<std::size_t>(activity.trunk);
    check_activity(problem, solution, a, activity.trunk == kNoTrunk ? 0 : bounds_s[trunk]);
    check_predecessors(problem, solution, a);
    if (activity.trunk != kNoTrunk) {
      trunks_B[trunk] += activity.work_B;
      ++flows[trunk];
    }
    for (const Use& use : activity.uses) {
      ConstraintLoad& load = loads[static_cast<std::size_t>(use.constraint)];
      load.asked_B += activity.work_B * use.weight;
      ++load.activities;
    }
  }
  for (std::size_t t = 0; t < trunks_B.size(); ++t)
    for (const Use& use : problem.trunks[t]) {
      ConstraintLoad& load = loads[static_cast<std::size_t>(use.constraint)];
      load.asked_B += trunks_B[t] * use.weight;
      load.activities += flows[t];
    }
  for (std::size_t c = 0; c < loads.size(); ++c) {
    loads[c].carried_B = solution.carried_B[c];
    loads[c].now_s = solution.makespan_s;
    check_constraint(problem, static_cast<int>(c), loads[c]);
  }
}

void check_order(const Problem& problem, const Solution& solution) {
  check_sizes(problem, solution);
  for (std::size_t a = 0; a < problem.activities.size(); ++a) check_predecessors(problem, solution, a);
}

void check_end(const Problem& problem, int index, const ActivityEnd& end) {
  const Activity& activity = problem.activities[static_cast<std::size_t>(index)];
  const double slack_s = kEventSlack_s * (1 + end.end_s);
  // By the time that was left for the bytes: products instead of the quotients of wire_bound_s.
  constexpr double kLonger = 1 / (1 - kRelative);
  const double flow_s = (end.end_s - end.start_s + slack_s) * kLonger - activity.delay_s;
  bool early = !(flow_s >= 0) || activity.work_B > activity.rate_cap_Bps * flow_s;
  for (const Use& use : activity.uses)
    early =
        early || activity.work_B * use.weight > problem.capacity_Bps[static_cast<std::size_t>(use.constraint)] * flow_s;
  if (early)
    fail("activity", static_cast<std::size_t>(index),
         "took " + exact(end.end_s - end.start_s) + " s, its wires need " + exact(wire_bound_s(problem, activity)) +
             " s");
  if (activity.work_B == 0 || (activity.uses.empty() && std::isinf(activity.rate_cap_Bps))) return;
  if (!(std::abs(end.moved_B - activity.work_B) <= kRelative * activity.work_B + end.rate_Bps * slack_s))
    fail("activity", static_cast<std::size_t>(index),
         "ended after " + exact(end.moved_B) + " of " + exact(activity.work_B) + " B");
}

void check_constraint(const Problem& problem, int index, const ConstraintLoad& load) {
  const std::size_t c = static_cast<std::size_t>(index);
  const double capacity_Bps = problem.capacity_Bps[c];
  const double slack_B = kRelative * load.asked_B + load.activities * capacity_Bps * kEventSlack_s * (1 + load.now_s);
  if (!(std::abs(load.carried_B - load.asked_B) <= slack_B))
    fail("constraint", c, "carried " + exact(load.carried_B) + " B, its activities have " + exact(load.asked_B) + " B");
  if (!(load.carried_B <= capacity_Bps * (load.now_s - load.since_s) + slack_B))
    fail("constraint", c,
         "carried " + exact(load.carried_B) + " B, " + exact(capacity_Bps) + " B/s for " +
             exact(load.now_s - load.since_s) + " s allow less");
}

}  // namespace linkcast
