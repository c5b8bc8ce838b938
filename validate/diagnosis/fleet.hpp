#pragma once
// One machine beside others of its kind, which ran the same: no forecast is needed.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "validate/diagnosis/diagnose.hpp"

namespace linkcast::diagnosis {

/// The times of one log by what was measured.
struct FleetLog {
  std::string name;
  std::vector<std::string> hosts{};        ///< its nodes in alphabetical order; empty: it does not name them
  std::map<std::string, Judged> points{};  ///< by all that tells them apart, in words
  std::map<std::string, double> time_s{};
};
/// @param hosts  nodes that it was run on, each once; empty: not known
FleetLog fleet_log(const std::string& name, const Measurement& measurement, const std::set<std::string>& hosts = {});

/// A log beside the median of the others.
struct FleetMember {
  std::string name;
  std::vector<std::string> points;  ///< that it shares with two others at least
  std::vector<double> over_median;  ///< ln(time / median of the others) of each
  double median = 0;                ///< of these
  Ranking ranking;                  ///< of slow parts: all of an operation, large or small sizes, a GPU, a pair
  bool slow = false;                ///< some part is slower than the fleet's own scatter allows
};

/// Parts that may be slow by themselves: everything, large or small sizes, an operation, a GPU, a pair.
std::vector<Effect> slow_parts(const std::vector<Judged>& points);

/// Standard deviation of values around 0, as of a normal distribution.
double robust_sigma(std::vector<double> values);
/// A scatter known from elsewhere counts as much as kNoiseFreedom of these logs' own figures.
double updated_sigma(double sigma, double own_sigma, std::size_t figures);

/// Every log beside the others. @throws InputError  fewer than three logs, or nothing that three have in common
std::vector<FleetMember> fleet_of(const std::vector<FleetLog>& logs);

/// Causes of what a log differs by from the median of others, the fault's part alone forecast.
/// @param bench  of the log. @param others  compared with the same platform
/// @param tolerance  of ln(times) of each point, this share of it: what forecasts of large faults are off by
Ranking causes_beside(const Bench& bench, const std::vector<validate::Comparison>& others, double tolerance = 0);

Json to_json(const FleetMember& member);

}  // namespace linkcast::diagnosis
