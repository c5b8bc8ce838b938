#pragma once
// Copies that wait for one copy engine: the hardware picks which is first, so several orders are simulated.
#include "sim/engine/problem.hpp"
#include "sim/forecast/copy_plan.hpp"
#include "sim/forecast/terms.hpp"

namespace linkcast::copy {

/// One order in which the copies take turns at their engines, simulated.
struct CopyRun {
  CopyPlan plan;
  Solution solution;
};

/// The run of median makespan over random starts, and the middle 90 % of the makespans.
struct CopyRuns {
  CopyRun median;
  uncertainty::Interval makespan;
  int count = 1;  ///< orders tried; 1: they do not matter
};

CopyRuns run_copies(const Cluster& machine, Solver& solver, const CopyRequest& request);

}  // namespace linkcast::copy
