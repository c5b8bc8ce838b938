#pragma once
// Structure and simulation of what a fit's samples timed.
#include <map>
#include <string>
#include <tuple>

#include "calibrate/fit/fit.hpp"
#include "sim/engine/problem.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast::pipelines {

/// Time in seconds of a sample on a platform, alone; repetitions share one simulation.
class SampleTime {
 public:
  /// Both outlive it.
  SampleTime(const Platform& platform, Solver& solver) : platform_(platform), solver_(solver) {}
  double operator()(const fit::Sample& sample);

 private:
  using Key = std::tuple<std::string, bool, int, int, int, double>;
  const Platform& platform_;
  Solver& solver_;
  std::map<Key, double> known_;
};

/// Mean latency of each distance of the fabric beyond the nearest, and links of its first pair, seen from the first
/// endpoint.
std::map<std::string, fit::FabricDistance> fabric_distances(const Topology& topology);

}  // namespace linkcast::pipelines
