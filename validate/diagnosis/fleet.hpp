#pragma once
// One machine beside others of its kind, which ran the same: no forecast is needed.
#include <map>
#include <string>
#include <vector>

#include "validate/diagnosis/diagnose.hpp"

namespace linkcast::diagnosis {

/// The times of one log by what was measured.
struct FleetLog {
  std::string name;
  std::map<std::string, Judged> points;  ///< by all that tells them apart, in words
  std::map<std::string, double> time_s;
};
FleetLog fleet_log(const std::string& name, const Measurement& measurement);

/// A log beside the median of the others.
struct FleetMember {
  std::string name;
  std::vector<std::string> points;  ///< that it shares with two others at least
  std::vector<double> over_median;  ///< ln(time / median of the others) of each
  double median = 0;                ///< of these
  Ranking ranking;                  ///< of slow parts: all of an operation, large or small sizes, a GPU, a pair
  bool slow = false;                ///< some part is slower than the fleet's own scatter allows
};

/// Every log beside the others. @throws InputError  fewer than three logs, or nothing that three have in common
std::vector<FleetMember> fleet_of(const std::vector<FleetLog>& logs);

/// Causes of what a log differs by from the median of others, the fault's part alone forecast.
/// @param bench  of the log. @param others  compared with the same platform
Ranking causes_beside(const Bench& bench, const std::vector<validate::Comparison>& others);

Json to_json(const FleetMember& member);

}  // namespace linkcast::diagnosis
