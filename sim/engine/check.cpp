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

void check_uses(const Problem& problem, std::size_t index, Duplicates& seen) {
  for (const Use& use : problem.activities[index].uses) {
    if (!in_range(use.constraint, problem.capacity_Bps.size())) {
      fail("activity", index, fmt::format("uses constraint {} of {}", use.constraint, problem.capacity_Bps.size()));
    }
    if (!(use.weight > 0) || std::isinf(use.weight)) {
      fail("activity", index, "weight is " + exact(use.weight) + ", allowed: > 0");
    }
    if (!seen.add(use.constraint, index)) {
      fail("activity", index, fmt::format("uses constraint {} twice", use.constraint));
    }
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

void check_activity(const Problem& problem, const Solution& solution, std::size_t index) {
  const Activity& activity = problem.activities[index];
  const double start_s = solution.start_s[index];
  const double finish_s = solution.finish_s[index];
  const double slack_s = kEventSlack_s * (1 + solution.makespan_s);
  if (!(start_s >= 0) || !(finish_s >= start_s) || !(finish_s <= solution.makespan_s)) {
    fail("activity", index,
         "never finished: start " + exact(start_s) + " s, finish " + exact(finish_s) + " s, makespan " +
             exact(solution.makespan_s));
  }
  const double bound_s = wire_bound_s(problem, activity);
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
  Duplicates constraints(problem.capacity_Bps.size());
  Duplicates queues(static_cast<std::size_t>(std::max(problem.queue_count, 0)));
  for (std::size_t a = 0; a < problem.activities.size(); ++a) {
    check_quantities(problem.activities[a], a);
    check_uses(problem, a, constraints);
    check_waits(problem, a, queues);
  }
}

void check_solution(const Problem& problem, const Solution& solution) {
  check_sizes(problem, solution);
  std::vector<ConstraintLoad> loads(problem.capacity_Bps.size());
  for (std::size_t a = 0; a < problem.activities.size(); ++a) {
    check_activity(problem, solution, a);
    check_predecessors(problem, solution, a);
    const Activity& activity = problem.activities[a];
    for (const Use& use : activity.uses) {
      ConstraintLoad& load = loads[static_cast<std::size_t>(use.constraint)];
      load.asked_B += activity.work_B * use.weight;
      ++load.activities;
    }
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
