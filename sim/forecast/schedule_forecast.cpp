#include "sim/forecast/schedule_forecast.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/forecast/algorithm.hpp"
#include "sim/forecast/copy_terms.hpp"
#include "sim/plan/cluster_message.hpp"

namespace linkcast::collective {

namespace term = uncertainty::term;

namespace {

// A library's messages inside a node where neither they nor its collectives were measured. source: assumed, as
// kUnmeasured of sim/forecast/terms.cpp
constexpr double kStandInError = 0.3;
// Rounds that stand for others. source: tests/physics/schedule_test.cpp, steady against step by step
constexpr double kSteadyError = 0.05;
constexpr double kWorthNaming = 0.1;  // source: ours, of the bytes that were limited
constexpr std::size_t kNamed = 12;    ///< constraints at most in a bottleneck

/// Constraints that limited most of the bytes.
std::vector<int> limits_of(const activities::ScheduleTimes& times) {
  double most = 0;
  for (const auto& [key, bytes] : times.limit_B) most = std::max(most, bytes);
  std::vector<int> keys;
  for (const auto& [key, bytes] : times.limit_B)
    if (bytes >= kWorthNaming * most && keys.size() < kNamed) keys.push_back(key);
  return keys;
}

std::vector<std::string> warnings_of(const CollectiveJob& job, const ScheduledRun& run, double time_s,
                                     const std::vector<int>& limits) {
  const std::string& library = job.communicator.library;
  std::vector<std::string> warnings;
  if (run.times.stand_in)
    warnings.push_back(
        std::string("no message between ") + (run.staging == Staging::kNone ? "GPUs" : "host processes") +
        " inside a node of " + job.node().topology().name +
        " of this size was measured: what its steps take, or a message between nodes, and the rates of links or "
        "memory stand in");
  const std::string network = job.node().transports().network_warning(job.node().topology().name);
  if (!job.one_node() && !network.empty()) warnings.push_back(network);
  if (run.times.combine_s > kWorthNaming * time_s && !run.times.combine.measured)
    warnings.emplace_back("the rate at which buffers are reduced is assumed");
  if (run.copies.assumed) warnings.emplace_back("the rate of copies between GPU and pageable host memory is assumed");
  if (!job.library.schedules()->public_choice())
    warnings.push_back("the choice of algorithms of " + library +
                       " is not public: that of the library it is made from");
  for (const int key : limits)
    if (!job.machine.calibrated(key))
      warnings.push_back("the rate of " + job.machine.id(key) + " is nominal, not calibrated");
  if (run.times.steady) warnings.emplace_back("too many messages for all of them: some rounds stand for others");
  return warnings;
}

/// Of its single messages, which collectives that were fitted on this machine contain.
double messages_scatter(const CollectiveJob& job, const ScheduledRun& rounds) {
  const Calibration& calibration = job.node().calibration();
  const char* kind = job.one_node() ? "mpi_collective" : "mpi_collective_network";
  if (uncertainty::scatter_of_kind(calibration, kind, job.size_B) != nullptr) return 0;
  if (rounds.times.stand_in) return kStandInError;
  double scatter = 0;
  for (const auto& [transport, bytes] : rounds.times.transport_B)
    scatter = std::max(scatter, uncertainty::scatter_of(calibration, transport, job.size_B));
  return scatter;
}

}  // namespace

std::string transport_refusal(const CollectiveJob& job) {
  if (job.transport.empty()) return "";
  if (job.one_node()) return "is of messages between nodes";
  if (job.library.schedules()->staging(job.op) != Staging::kNone)
    return job.communicator.library + " moves the buffers of " + job.op_name + " through host memory";
  if (activities::staged_in_turn(job.node(), job.transport))
    return job.transport + " on " + job.node().topology().name +
           " is made of copies, which no schedule of messages has";
  return "";
}

uncertainty::Terms terms_of_rounds(const CollectiveJob& job, const CollectiveRun& run,
                                   std::set<std::string>& warnings) {
  const ScheduledRun& rounds = *run.scheduled;
  const Calibration& calibration = job.node().calibration();
  const double time = run.time_s();
  uncertainty::Terms terms(calibration, time);
  terms.add(term::kMisfit, uncertainty::misfit_of(calibration, {true, job.communicator.nodes}, job.size_B),
            uncertainty::kScatter);
  terms.add(term::kMisfit, messages_scatter(job, rounds), uncertainty::kScatter);
  terms.add(term::kBase, rounds.times.delay_error * rounds.times.latency_s / time, uncertainty::kMeasured);
  const double inside_s = rounds.inside_s() + rounds.times.combine_s + rounds.times.latency_s;
  terms.add(
      {{term::kReduction, rounds.times.combine_s, rounds.times.combine.rate_error.times(-rounds.times.combine_s / time),
        rounds.times.combine.measured ? uncertainty::kMeasured : uncertainty::kAssumed},
       {term::kBase, rounds.times.latency_s},
       {term::kStaging, rounds.inside_s()},
       {term::kSerialisation, std::max(0.0, time - inside_s)}});
  for (const ErrorPart& part : rounds.copies.error_s) terms.add({{term::kStaging, 0, part.times(1 / time)}});
  if (rounds.times.steady) terms.add(term::kMisfit, kSteadyError);
  uncertainty::add_extrapolation(job.node(), job.size_B, rounds.times.latency_s, terms, warnings);
  terms.bound(run.wire_s);
  return terms;
}

CollectiveForecast forecast_of_rounds(const CollectiveJob& job, const CollectiveRun& run) {
  const ScheduledRun& rounds = *run.scheduled;
  CollectiveForecast forecast;
  std::set<std::string> extrapolated;
  const std::vector<int> limits = limits_of(rounds.times);
  const uncertainty::Terms terms = terms_of_rounds(job, run, extrapolated);
  forecast.time_s = terms.time_s();
  forecast.interval = terms.interval();
  forecast.terms = terms.list();
  forecast.latency_s = rounds.times.latency_s;
  forecast.size_B = job.size_B;
  forecast.bus_factor = job.op.bus_factor(job.ranks());
  forecast.library = job.communicator.library;
  forecast.algorithm = rounds.algorithm;
  forecast.protocol = "messages";
  forecast.rounds = {rounds.times.rounds, rounds.times.steady, rounds.copies.time_s(), rounds.times.combine_s, {}};
  for (const auto& [transport, bytes] : rounds.times.transport_B) forecast.rounds->transports.push_back(transport);
  forecast.nodes = job.communicator.nodes;
  forecast.gpus_per_node = static_cast<int>(job.communicator.gpus.size());
  forecast.fallback = rounds.staging != Staging::kNone;
  for (const int key : limits) forecast.bottleneck.push_back(name_of(job, key));
  if (limits.empty())
    forecast.limited_by = 2 * forecast.latency_s >= forecast.time_s ? "start-up" : "rates of single messages";
  forecast.warnings = warnings_of(job, rounds, forecast.time_s, limits);
  forecast.warnings.insert(forecast.warnings.end(), extrapolated.begin(), extrapolated.end());
  return forecast;
}

std::vector<std::string> algorithms_for(const std::string& op) {
  std::vector<std::string> names;
  const std::string equal = collectives().get(op).equal_parts();
  const std::string scheduled = equal.empty() ? op : equal;
  for (const std::string& name : algorithms().names()) {
    const auto ops = algorithms().get(name).operations();
    if (std::find(ops.begin(), ops.end(), scheduled) != ops.end()) names.push_back(name);
  }
  return names;
}

Alternatives other_schedules(const CollectiveJob& job, const CollectiveRun& taken, Solver& solver) {
  Alternatives others;
  for (const std::string& name : algorithms_for(job.op_name))
    if (name != taken.scheduled->algorithm)
      others.rows.push_back({name, "messages", run_scheduled(job, name, solver).time_s()});
  std::sort(others.rows.begin(), others.rows.end(), [](const Alternatives::Row& a, const Alternatives::Row& b) {
    return std::tie(a.time_s, a.algorithm) < std::tie(b.time_s, b.algorithm);
  });
  return others;
}

}  // namespace linkcast::collective
