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

/// Transport of most bytes.
const std::string& main_transport(const ScheduledRun& rounds) {
  static const std::string none;
  const auto& all = rounds.times.transport_B;
  const auto most =
      std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == all.end() ? none : most->first;
}

/// Scatter of its single messages, which collectives that were fitted on this machine contain.
uncertainty::Term scatter_of_messages(const CollectiveJob& job, const ScheduledRun& rounds) {
  const Calibration& calibration = job.node().calibration();
  uncertainty::Term scatter{term::kMisfit, 0, ErrorPart(0.0), uncertainty::kScatter};
  const char* kind = job.one_node() ? "mpi_collective" : "mpi_collective_network";
  if (uncertainty::scatter_of_kind(calibration, kind, job.size_B) != nullptr) return scatter;
  if (rounds.times.stand_in) return {term::kMisfit, 0, ErrorPart(kStandInError), uncertainty::kOtherMachines};
  for (const auto& [transport, bytes] : rounds.times.transport_B) {
    const double sigma = uncertainty::scatter_of(calibration, transport, job.size_B);
    if (sigma <= scatter.spread.sigma) continue;
    scatter.spread = ErrorPart(sigma);
    scatter.source = uncertainty::scatter_source(calibration, transport);
  }
  return scatter;
}

/// Copies through host memory, or of what a rank keeps inside its GPU.
std::string_view staging_source(const CollectiveJob& job, const ScheduledRun& rounds) {
  const Platform& node = job.node();
  const auto source_of_copy = [&](const char* name) {
    return uncertainty::source_of(node.calibration(), node.transports().get(name).regimes.front().startup);
  };
  if (rounds.staging == Staging::kNone) return source_of_copy("local");
  if (rounds.copies.assumed) return uncertainty::kAssumed;
  if (rounds.staging == Staging::kPinned) return source_of_copy("d2h");
  const LibraryParameters known(node.calibration());
  const Learned own = learned(known, job.communicator.library, key::staging_rate, {1, 1});
  return own.measured ? own.provenance : source_of_copy("d2h_pageable");
}

/// Parts of the time, which they add up to. Delays that pass one after the other are those of the longest chain.
/// @param moving_s  seconds of the messages
std::vector<uncertainty::Term> parts_of_rounds(const CollectiveJob& job, const ScheduledRun& rounds, double moving_s,
                                               double time_s) {
  const activities::ScheduleTimes& times = rounds.times;
  const bool host = rounds.staging != Staging::kNone;
  const LibraryParameters known(job.node().calibration());
  const std::string& library = job.communicator.library;
  const LibraryRow& post_row = host ? key::host_post : key::gpu_post;
  const std::string_view post = uncertainty::source_of(learned(known, library, post_row), uncertainty::kAssumed);
  const std::string_view reduction =
      host ? uncertainty::source_of(learned(known, library, key::host_reduce), uncertainty::kAssumed)
           : uncertainty::kAssumed;
  const std::string_view messages = times.stand_in
                                        ? uncertainty::kOtherMachines
                                        : uncertainty::message_source(job.node(), main_transport(rounds), job.size_B);
  const double latency_s = std::min(times.latency_s, moving_s);
  const double scale = times.latency_s > 0 ? latency_s / times.latency_s : 0;
  const double starts_s = scale * std::max(0.0, times.latency_s - times.posting_s - times.starting_s);
  const double first_s = std::min(scale * times.first_s, starts_s);
  const double adding_s = std::clamp(times.combine_s - times.starting_s, 0.0, moving_s - latency_s);
  const ErrorPart starts(scale * times.delay_error_s / time_s);
  const double bytes_s = moving_s - latency_s - adding_s;
  // Inside a node processes copy all bytes, as fast as nobody measured.
  const bool copied = host && job.one_node() && times.stand_in;
  const ErrorPart copying =
      copied ? ErrorPart(learned(known, library, key::inside_bandwidth)).times(-(bytes_s + rounds.own_s) / time_s)
             : ErrorPart(0.0);
  const bool by_first = 2 * first_s >= starts_s;  // the larger part holds the error of all start-ups
  return {{term::kBase, first_s, by_first ? starts : ErrorPart(0.0), messages},
          {term::kHops, starts_s - first_s, by_first ? ErrorPart(0.0) : starts, messages},
          {term::kReduction, scale * times.starting_s + adding_s,
           times.combine.rate_error.times(-times.combine_s / time_s), reduction, host ? &key::host_reduce : nullptr},
          {term::kLaunch, scale * times.posting_s, {}, post, &post_row},
          {term::kStaging, rounds.inside_s(), {}, staging_source(job, rounds)},
          {term::kSerialisation, bytes_s, copying, messages, copied ? &key::inside_bandwidth : nullptr}};
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

uncertainty::Kind misfit_kind(const CollectiveJob& job, bool messages) {
  if (job.one_node()) return {messages};
  const std::string& library = job.communicator.library;
  const std::string from = library_family(library) + ".", version = "@" + library_version_name(library) + ".";
  const auto& parameters = job.node().calibration().parameters;
  const bool fitted = std::any_of(parameters.lower_bound(from), parameters.end(), [&](const auto& one) {
    const auto& [name, parameter] = one;
    return parameter.provenance == "fitted" && name.starts_with(from) && name.find(version) != std::string::npos;
  });
  return {messages, job.communicator.nodes, fitted ? std::string_view(job.op_name) : std::string_view()};
}

uncertainty::Terms terms_of_rounds(const CollectiveJob& job, const CollectiveRun& run, double waited_s,
                                   std::set<std::string>& warnings) {
  const ScheduledRun& rounds = *run.scheduled;
  const Calibration& calibration = job.node().calibration();
  const double time_s = run.time_s();
  const uncertainty::Kind kind = misfit_kind(job, true);
  uncertainty::Terms terms(calibration, time_s);
  terms.add(term::kMisfit, uncertainty::misfit_of(calibration, kind, job.size_B),
            uncertainty::misfit_source(calibration, kind));
  terms.add({scatter_of_messages(job, rounds)});
  terms.add(parts_of_rounds(job, rounds, std::max(0.0, time_s - rounds.inside_s() - waited_s), time_s));
  for (const ErrorPart& part : rounds.copies.error_s)
    terms.add({{term::kStaging, 0, part.times(1 / time_s), staging_source(job, rounds)}});
  if (rounds.times.steady) terms.add(term::kMisfit, kSteadyError);
  uncertainty::add_extrapolation(job.node(), job.size_B, rounds.times.latency_s, terms, warnings);
  if (waited_s > 0) terms.add({{term::kContention, waited_s, {}, uncertainty::kAssumed}});
  terms.bound(run.wire_s);
  return terms;
}

CollectiveForecast forecast_of_rounds(const CollectiveJob& job, const CollectiveRun& run) {
  const ScheduledRun& rounds = *run.scheduled;
  CollectiveForecast forecast;
  std::set<std::string> extrapolated;
  const std::vector<int> limits = limits_of(rounds.times);
  const uncertainty::Terms terms = terms_of_rounds(job, run, 0, extrapolated);
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
  const std::string inherited = uncertainty::inherited_warning(job.node().calibration(), job.node().topology().name,
                                                               forecast.terms, forecast.time_s);
  if (!inherited.empty()) forecast.warnings.push_back(inherited);
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
