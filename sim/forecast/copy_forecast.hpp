#pragma once
// Forecast of copies that start together, and how forecasts of copies are written.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/engine/problem.hpp"
#include "sim/forecast/copy_request.hpp"
#include "sim/forecast/terms.hpp"
#include "sim/machine/cluster.hpp"
#include "sim/plan/network_load.hpp"
#include "sim/query/key.hpp"

namespace linkcast::copy {

/// What one copy of several did.
struct FlowForecast {
  double time_s = 0;  ///< from the start of all to its end
  std::string transport;
};

/// What is told of one copy only.
struct LoneCopyForecast {
  std::string transport;
  std::string direction{};                          ///< read or write; empty where it has no meaning
  std::string via{};                                ///< relaying GPU
  std::string distance{};                           ///< "same switch", ...; empty inside a node
  int nics = 1;                                     ///< that share the bytes
  std::optional<std::vector<std::string>> route{};  ///< ids of links in order; none where it is not told
};

/// Times in the noise of other jobs.
struct NoisyTimes {
  congestion::NetworkLoad load;
  congestion::SampleTimes samples;
  double quiet_s = 0;
};

/// By a CPU thread, or by nobody.
struct Issued {
  bool by_host = false;
  double host_s = 0;     ///< to issue all copies of the request once
  double devices_s = 0;  ///< of time_s what the devices take
  bool host_bound = false;
};

struct CopyForecast {
  double time_s = 0;  ///< until the last copy has ended; in noise the median
  uncertainty::Interval interval;
  std::vector<uncertainty::Term> terms{};
  double bandwidth_Bps = 0;  ///< of all copies together
  double latency_s = 0;      ///< start-up of the first copy; of several the longest
  Timing timing = Timing::kSingle;
  std::optional<Issued> issued{};           ///< none of messages: their processes are in what was measured
  std::optional<LoneCopyForecast> alone{};  ///< of a request of one copy; else `flows`
  std::vector<FlowForecast> flows{};        ///< in the order of the request
  std::optional<NoisyTimes> noise{};
  std::set<std::string> bottleneck{};  ///< ids of constraints
  std::set<std::string> warnings{};
};

/// Time, interval and terms of a forecast.
void set_terms(const uncertainty::Terms& terms, CopyForecast& forecast);

/// Copies and messages that start together, each by its plan: none is one of a queue of messages.
/// @throws InputError  no transport joins two ends, or none was measured
CopyForecast forecast_planned(const Cluster& machine, Solver& solver, const CopyRequest& request);

/// The keys of to_json, a row each: of one copy, and of several together.
query::KeyTable copy_results();
query::KeyTable flow_results();
Json to_json(const CopyForecast& forecast);

}  // namespace linkcast::copy
