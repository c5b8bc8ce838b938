#pragma once
// What a job's collective puts on the links of a machine, and how long it takes beside those of others.
#include <functional>
#include <string>
#include <vector>

#include "sim/forecast/placed_collective.hpp"
#include "sim/plan/plan.hpp"

namespace linkcast::placement {

/// One call of a collective, with nothing else going on.
struct Traffic {
  std::vector<Activity> flows{};  ///< those that wait for none begin together; constraints are keys of the machine
  double latency_s = 0;           ///< before and beside the bytes
  double alone_s = 0;             ///< latency included
  std::vector<activities::OwnLimit> own_limits{};
  std::vector<Activity> average{};  ///< where flows follow each other: one that stands for all of them to others
};

Traffic traffic_of(activities::Plan plan);

/// On GPUs of one node. Keys are the platform's constraints. @param library  not empty
Traffic node_traffic(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, const std::string& library,
                     const std::string& op, double size_B, const std::vector<int>& gpus);

/// Over nodes. Keys are those of the platform's cluster. @param library  empty: usual_library_across()
Traffic nodes_traffic(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, const std::string& library,
                      const std::string& op, double size_B, const collective::PlacedNodes& where);

/// Bytes per second of a key.
using Capacity = std::function<double(int key)>;

/// Another job's, over and over.
struct Background {
  const Traffic* traffic = nullptr;
  double period_s = 0;   ///< of its iteration: its flows move on average what they move once in it
  double compute_s = 0;  ///< of its iteration, besides the call
};

/// Time of one call beside the others. Each of these takes of a link what it moves on average, at most its fair share:
/// jobs that run for hours are as likely to exchange in one moment of ours as in another. A job that does nothing but
/// exchange takes its fair share all the time, as if both had begun together.
double call_s(const Traffic& own, const std::vector<Background>& others, const Capacity& capacity_Bps);

}  // namespace linkcast::placement
