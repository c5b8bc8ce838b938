#pragma once
#include <string>
#include <vector>

#include "sim/engine/plan_record.hpp"

namespace linkcast {

/// Where the plan of a program comes from.
struct ProgramNotes {
  std::vector<std::string> head;  ///< lines of its first comment
  double forecast_s = 0;          ///< time of the whole answer
};

/// A C++ program that runs the plan on SimGrid >= 3.32 alone, by its S4U interface: a pair of hosts for each route, an
/// actor for each activity. It prints the time of the plan, and what the forecast has besides.
/// @limits  SimGrid keeps a table of all pairs of hosts: some thousand activities at most
std::string s4u_program(const RecordedPlan& plan, const ProgramNotes& notes);

}  // namespace linkcast
