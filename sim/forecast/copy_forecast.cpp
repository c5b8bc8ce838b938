#include "sim/forecast/copy_forecast.hpp"

#include <algorithm>

#include "sim/base/index.hpp"
#include "sim/engine/many_flows.hpp"
#include "sim/forecast/copy_terms.hpp"
#include "sim/forecast/engine_orders.hpp"
#include "sim/forecast/launching.hpp"
#include "sim/plan/link_name.hpp"
#include "sim/plan/noisy_message.hpp"
#include "sim/query/shared_keys.hpp"

namespace linkcast::copy {
namespace {

using query::ValueType;

constexpr std::size_t kMembers =
    20;  // source: ours, keys of most answers in less than the KiB that malloc keeps at hand

/// Adds the terms of the copies of one run, and what limits them and has to be said of them.
class Judge {
 public:
  /// @param terms  of the time that is shown
  Judge(const Cluster& machine, const CopyRequest& request, CopyRuns& runs, const Solution& shown,
        uncertainty::Terms& terms, CopyForecast& forecast)
      : machine_(machine), request_(request), runs_(runs), shown_(shown), terms_(terms), forecast_(forecast) {}

  void judge() {
    const std::vector<PlannedCopy>& copies = runs_.median.plan.copies();
    std::vector<activities::Transfer> inside;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      if (copies[i].inside) {
        judge_inside(copies[i], request_.copies[i].bytes);
        inside.push_back(request_.inside);
        inside.back().source = number_of(request_.copies[i].from);
        inside.back().target = number_of(request_.copies[i].to);
      } else {
        judge_message(copies[i], request_.copies[i].bytes);
      }
    }
    uncertainty::add_sharing(inside, terms_, forecast_.warnings);
    check_sizes(copies);
    if (runs_.count > 1)
      forecast_.warnings.insert("copies wait for their copy engine and the hardware picks the first: the median of " +
                                std::to_string(runs_.count) + " random choices");
    if (shown_.late_shares > 0) forecast_.warnings.insert(kSharedLate);
    terms_.bound(runs_.median.plan.cluster_problem().wire_bound_s());
  }

  /// As the answer names a key of the cluster: without the node where the request names none.
  [[nodiscard]] std::string name_of_key(int key) const {
    return activities::link_name(machine_, key, request_.names_nodes);
  }

  /// Longest start-up, seconds.
  [[nodiscard]] double latency_s() const { return latency_s_; }
  /// Waits of the copy that ends last, seconds.
  [[nodiscard]] double waits_s() const { return waits_s_; }

 private:
  /// Of a device among those of all nodes.
  [[nodiscard]] int number_of(const activities::ClusterEnd& end) const {
    return end.node * static_cast<int>(machine_.node().topology().devices.size()) + end.device;
  }

  void judge_inside(const PlannedCopy& copy, double bytes) {
    const Platform& node = machine_.node();
    uncertainty::add_copy(node, *copy.inside, bytes, terms_, forecast_.warnings);
    const int limit = runs_.median.solution.limited_by[at(copy.main)];
    const double waits_s = uncertainty::add_waits(node, *copy.inside, limit == kOwnCap, terms_);
    if (shown_.finish_s[at(copy.last)] >= shown_.makespan_s) waits_s_ = waits_s;
    const int first = machine_.key(copy.node, 0);
    const int constraint =
        limit == kOwnCap ? copy.inside->cap_link : runs_.median.plan.cluster_problem().key(limit) - first;
    if (constraint < 0) return;
    const std::string name = name_of_key(first + constraint);
    forecast_.bottleneck.insert(name);
    uncertainty::add_limit(node, constraint, name, terms_, forecast_.warnings);
  }

  void judge_message(const PlannedCopy& copy, double bytes) {
    const activities::PlannedMessage& plan = *copy.between;
    uncertainty::add_message(machine_, plan, bytes, terms_, forecast_.warnings);
    const int limit = runs_.median.solution.limited_by[at(copy.main)];
    if (limit != kOwnCap) {
      const int key = runs_.median.plan.cluster_problem().key(limit);
      forecast_.bottleneck.insert(machine_.id(key));
      if (!machine_.calibrated(key))
        forecast_.warnings.insert("the rate of " + machine_.id(key) + " is nominal, not calibrated");
    } else if (shown_.finish_s[at(copy.last)] > 2 * plan.latency_s) {
      // the curve's own rate: what its narrowest link attained
      const auto narrowest = std::min_element(plan.links.begin(), plan.links.end(), [&](int a, int b) {
        return machine_.capacity(a) < machine_.capacity(b);
      });
      if (narrowest != plan.links.end()) forecast_.bottleneck.insert(machine_.id(*narrowest));
    }
  }

  void check_sizes(const std::vector<PlannedCopy>& copies) {
    const auto [smallest, largest] = std::minmax_element(
        request_.copies.begin(), request_.copies.end(), [](const Copy& a, const Copy& b) { return a.bytes < b.bytes; });
    const double from_B = machine_.node().calibration().valid_from_B;
    for (const PlannedCopy& copy : copies) latency_s_ = std::max(latency_s_, copy.latency_s());
    if (smallest->bytes < from_B)
      uncertainty::add_extrapolation(machine_.node(), smallest->bytes, latency_s_, terms_, forecast_.warnings);
    if (largest->bytes >= from_B)
      uncertainty::add_extrapolation(machine_.node(), largest->bytes, latency_s_, terms_, forecast_.warnings);
  }

  const Cluster& machine_;
  const CopyRequest& request_;
  CopyRuns& runs_;
  const Solution& shown_;
  uncertainty::Terms& terms_;
  CopyForecast& forecast_;
  double waits_s_ = 0, latency_s_ = 0;
};

LoneCopyForecast lone_copy(const Cluster& machine, const CopyRequest& request, const CopyPlan& plan,
                           const Judge& judge) {
  const PlannedCopy& copy = plan.copies().front();
  LoneCopyForecast alone{copy.transport()};
  if (copy.inside) {
    if (copy.inside->transport == "peer")
      alone.direction = request.inside.read.value_or(copy.inside->model == "peer_read") ? "read" : "write";
    if (copy.inside->via >= 0) alone.via = machine.node().topology().devices[at(copy.inside->via)].id;
  } else {
    alone.distance = copy.between->distance;
    alone.nics = copy.between->nics;
  }
  alone.route.emplace();
  for (const int key : plan.links_of(copy)) alone.route->push_back(judge.name_of_key(key));
  return alone;
}

/// Draws of the noise, and the run that has the median one's times; of a round trip, of its way there.
NoisyTimes draw_noise(CopyRuns& runs, Solver& solver, const congestion::NetworkLoad& load, Solution& shown) {
  activities::ClusterProblem& problem = runs.median.plan.cluster_problem();
  NoisyTimes noise{load, congestion::noisy_message_times(problem, load, solver), shown.makespan_s};
  const congestion::SampleTime& median = congestion::percentile(noise.samples, 50);
  shown = congestion::noisy_messages(problem, load, median.sample, solver);
  if (load.round_trip) shown.makespan_s = median.time_s();
  return noise;
}

/// @param done_s  when the devices have done a copy; from rest the host's work on it is in that
double issued_s(const CopyRequest& request, double done_s) {
  if (!request.host) return done_s;
  return request.timing == Timing::kSingle ? done_s + request.host->wait.s : std::max(done_s, request.issue_s());
}

/// From rest the host's parts come on top, in a queue the slower of host and devices sets the pace.
void add_host(const Cluster& machine, const CopyRequest& request, uncertainty::Terms& terms, CopyForecast& forecast) {
  const auto copies = static_cast<double>(request.copies.size());
  const CopyHost& host = *request.host;
  const bool single = request.timing == Timing::kSingle;
  const launch::HostTime issue{request.issue_s(), copies * host.issue.low_s, copies * host.issue.high_s};
  const launch::Launching issuing{launch::Kind::kProcess, 1, issue, host.wait, host.lender};
  terms.issue({issue, host.wait, single ? 1 : 0, single, launch::source_of_host(host.lender)});
  forecast.issued = {true, issue.s, terms.device_s(), issue.s > terms.device_s()};
  if (forecast.issued->host_bound) forecast.bottleneck.clear();
  const std::string warning = issuing.warning(machine.node().topology().name, terms.device_s());
  if (!warning.empty()) forecast.warnings.insert(warning);
}

/// Start-up, waits, bytes and noise, which together are what the devices take.
void add_parts(double latency_s, double waits_s, const CopyForecast& forecast, uncertainty::Terms& terms) {
  namespace term = uncertainty::term;
  const double devices_s = terms.device_s();
  const double quiet_s = forecast.noise ? std::min(devices_s, forecast.noise->quiet_s) : devices_s;
  const double base_s = std::min(latency_s, quiet_s);
  terms.add_part(term::kBase, base_s);
  const double contention_s = std::min(waits_s, quiet_s - base_s);
  terms.add_part(term::kContention, contention_s);
  terms.add_part(term::kSerialisation, quiet_s - base_s - contention_s);
  terms.add_part(term::kNoise, devices_s - quiet_s, uncertainty::kScatter);
}

query::Key timing_result() {
  return {.name = "timing",
          .help = "single (from rest) or back_to_back (one of a queue)",
          .required = true,
          .choices = {"single", "back_to_back"}};
}

query::Key limited_by_result() {
  return {.name = "limited_by",
          .help = "what takes most of the time",
          .required = true,
          .choices = {"bandwidth", "start-up", "host", "rates of single copies", "rates of single messages"}};
}

}  // namespace

void set_terms(const uncertainty::Terms& terms, CopyForecast& forecast) {
  forecast.time_s = terms.time_s();
  forecast.interval = terms.interval();
  forecast.terms = terms.list();
}

CopyForecast forecast_planned(const Cluster& machine, Solver& solver, const CopyRequest& request) {
  CopyRuns runs = run_copies(machine, solver, request);
  Solution shown = runs.median.solution;
  CopyForecast forecast;
  forecast.timing = request.timing;
  const bool unmoved = request.load.draws() && !request.load.noise;
  if (request.load.noise) forecast.noise = draw_noise(runs, solver, request.load, shown);
  const bool orders = runs.count > 1 && !request.load.noise;
  uncertainty::Terms terms(
      machine.node().calibration(), shown.makespan_s,
      {orders ? runs.makespan.low_s : shown.makespan_s, orders ? runs.makespan.high_s : shown.makespan_s});
  Judge judge(machine, request, runs, shown, terms, forecast);
  judge.judge();
  if (std::none_of(request.copies.begin(), request.copies.end(), [](const Copy& copy) { return copy.message; }))
    forecast.issued.emplace();
  if (request.host) add_host(machine, request, terms, forecast);
  add_parts(judge.latency_s(), judge.waits_s(), forecast, terms);
  set_terms(terms, forecast);
  const std::string inherited =
      inherited_warning(machine.node().calibration(), machine.node().topology().name, forecast.terms, forecast.time_s);
  if (!inherited.empty()) forecast.warnings.insert(inherited);
  double bytes = 0;
  for (const Copy& copy : request.copies) bytes += copy.bytes;
  forecast.latency_s = request.together ? judge.latency_s() : runs.median.plan.copies().front().latency_s();
  forecast.bandwidth_Bps = bytes / forecast.time_s;
  if (request.together)
    for (const PlannedCopy& copy : runs.median.plan.copies())
      forecast.flows.push_back({issued_s(request, shown.finish_s[at(copy.last)]), copy.transport()});
  else
    forecast.alone = lone_copy(machine, request, runs.median.plan, judge);
  if (unmoved) {
    forecast.noise = NoisyTimes{request.load, {{0, forecast.time_s}}, forecast.time_s};
    forecast.warnings.insert(congestion::kStaysInNode);
  }
  return forecast;
}

query::KeyTable copy_results() {
  return query::joined(
      {query::interval_results(),
       launch::launch_results(),
       {query::terms_result(),
        {.name = "bandwidth_Bps",
         .type = ValueType::kNumber,
         .help = "bytes over time, both ways added",
         .required = true},
        {.name = "latency_s", .type = ValueType::kNumber, .help = "start-up", .required = true},
        {.name = "transport", .help = "that was taken", .required = true},
        {.name = "direction", .help = "of a peer copy: read or write"},
        {.name = "via", .help = "the relaying GPU"},
        {.name = "distance", .help = "between nodes: what lies between them"},
        {.name = "nics", .type = ValueType::kWhole, .help = "cards that share the message, if several"},
        {.name = "route", .type = ValueType::kTexts, .help = "ids of the links on the way"},
        timing_result(),
        query::bottleneck_result(),
        limited_by_result()}});
}

query::KeyTable flow_results() {
  return query::joined(
      {query::interval_results(),
       launch::launch_results(),
       {query::terms_result(),
        {.name = "flow_times_s", .type = ValueType::kNumbers, .help = "when each copy is done", .required = true},
        {.name = "transports", .type = ValueType::kTexts, .help = "of each copy", .required = true},
        {.name = "bandwidth_Bps", .type = ValueType::kNumber, .help = "all bytes over time_s", .required = true},
        timing_result(),
        query::bottleneck_result(),
        limited_by_result()}});
}

namespace {

/// An answer's members, each a key of its own: none is looked for before it is added.
class Members {
 public:
  explicit Members(Json& out) : members_(out.get_ref<Json::object_t&>()) {}
  template <class Value>
  void put(const char* key, Value&& value) {
    members_.emplace_back(key, std::forward<Value>(value));
  }

 private:
  Json::object_t& members_;
};

void put_issued(const CopyForecast& forecast, Members& out) {
  if (!forecast.issued) return;
  out.put("launch", launch::name_of(forecast.issued->by_host ? launch::Kind::kProcess : launch::Kind::kGraph));
  if (!forecast.issued->by_host) return;
  out.put("host_s", forecast.issued->host_s);
  out.put("device_s", forecast.issued->devices_s);
}

std::string limit_of(const CopyForecast& forecast) {
  if (forecast.issued && forecast.issued->host_bound) return "host";
  const double devices_s = forecast.issued && forecast.issued->by_host ? forecast.issued->devices_s : forecast.time_s;
  if (devices_s <= 2 * forecast.latency_s) return "start-up";
  if (!forecast.bottleneck.empty()) return "bandwidth";
  return forecast.issued ? "rates of single copies" : "rates of single messages";
}

}  // namespace

Json to_json(const CopyForecast& forecast) {
  Json out = Json::object();
  out.get_ref<Json::object_t&>().reserve(kMembers);
  uncertainty::put_interval(out, forecast.time_s, forecast.interval);
  Members members(out);
  put_issued(forecast, members);
  if (const auto& alone = forecast.alone) {
    members.put("bandwidth_Bps", forecast.bandwidth_Bps);
    members.put("latency_s", forecast.latency_s);
    members.put("transport", alone->transport);
    members.put("timing", name_of(forecast.timing));
    if (!alone->direction.empty()) members.put("direction", alone->direction);
    if (!alone->via.empty()) members.put("via", alone->via);
    if (!alone->distance.empty()) members.put("distance", alone->distance);
    if (alone->nics > 1) members.put("nics", alone->nics);
    if (alone->route) members.put("route", *alone->route);
  } else {
    Json times_s = Json::array(), transports = Json::array();
    for (const FlowForecast& flow : forecast.flows) {
      times_s.push_back(flow.time_s);
      transports.push_back(flow.transport);
    }
    members.put("flow_times_s", std::move(times_s));
    members.put("transports", std::move(transports));
    members.put("timing", name_of(forecast.timing));
    members.put("bandwidth_Bps", forecast.bandwidth_Bps);
  }
  members.put("bottleneck", forecast.bottleneck);
  members.put("limited_by", limit_of(forecast));
  if (const auto& noise = forecast.noise) congestion::put_percentiles(out, noise->load, noise->samples, noise->quiet_s);
  members.put("warnings", forecast.warnings);
  return out;
}

}  // namespace linkcast::copy
