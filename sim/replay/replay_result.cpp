#include "sim/replay/replay_result.hpp"

#include <map>

#include "sim/base/index.hpp"
#include "sim/machine/collective.hpp"
#include "sim/replay/trace_feed.hpp"

namespace linkcast::replay {
namespace {

constexpr const char* kMessage = "message";

/// Place of its sum.
std::size_t place_of(const FedEvent& event) { return event.kind == TraceKind::kCollective ? at(event.which) + 1 : 0; }

}  // namespace

void Operations::starts(const std::vector<ReplayRank>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) ranks_[rank].feed = ranks[rank].feed;
}

void Operations::bring_up(State& state, double now_s) {
  const double passed_s = now_s - state.updated_s;
  state.updated_s = now_s;
  if (state.computing > 0) return;
  for (Sum& sum : state.sums)
    if (sum.open > 0) sum.exposed_s += passed_s;
}

Operations::Sum& Operations::sum_at(State& state, std::size_t place) {
  if (state.sums.size() <= place) state.sums.resize(place + 1);
  state.sums[place].met = true;
  return state.sums[place];
}

void Operations::begins(int rank, const FedEvent& event, double now_s) {
  State& state = ranks_[at(rank)];
  bring_up(state, now_s);
  ++(communicates(event.kind) ? sum_at(state, place_of(event)).open : state.computing);
}

void Operations::ends(int rank, const FedEvent& event, double now_s) {
  State& state = ranks_[at(rank)];
  bring_up(state, now_s);
  --(communicates(event.kind) ? sum_at(state, place_of(event)).open : state.computing);
}

double Operations::bus_factor(const TraceFeed* feed, const Exchange& exchange) {
  if (exchange.op == Exchange::kMessage || exchange.ranks.size() < 2) return 1;
  BusFactor& known = bus_factor_;
  if (known.feed != feed || known.op != exchange.op || known.ranks != exchange.ranks.size())
    known = {feed, exchange.op, exchange.ranks.size(),
             collectives().get(feed->op(exchange.op)).bus_factor(static_cast<int>(exchange.ranks.size()))};
  return known.factor;
}

void Operations::moved(const Exchange& exchange) {
  const double bus_B = exchange.size_B * bus_factor(ranks_[at(exchange.ranks.front())].feed, exchange);
  for (const int rank : exchange.ranks) {
    Sum& sum = sum_at(ranks_[at(rank)], at(exchange.op + 1));
    ++sum.calls;
    sum.size_B += exchange.size_B;
    sum.bus_B += bus_B;
    sum.time_s += exchange.ended_s - exchange.began_s;
    if (!exchange.recorded_s) continue;
    ++sum.recorded_calls;
    sum.recorded_s += *exchange.recorded_s;
  }
}

std::vector<OperationTimes> Operations::times(std::size_t first_rank, std::size_t end_rank) const {
  std::map<std::string, std::size_t> places;  // of one job's feed
  for (std::size_t rank = first_rank; rank < end_rank; ++rank)
    for (std::size_t place = 0; place < ranks_[rank].sums.size(); ++place)
      if (ranks_[rank].sums[place].met)
        places.emplace(place == 0 ? kMessage : ranks_[rank].feed->op(static_cast<int>(place) - 1), place);
  std::vector<OperationTimes> all;
  for (const auto& [op, place] : places) {
    Sum sum;
    double ranks = 0;
    for (std::size_t rank = first_rank; rank < end_rank; ++rank) {
      const std::vector<Sum>& sums = ranks_[rank].sums;
      if (place >= sums.size() || !sums[place].met) continue;
      const Sum& own = sums[place];
      ++ranks;
      sum.calls += own.calls;
      sum.recorded_calls += own.recorded_calls;
      sum.size_B += own.size_B;
      sum.bus_B += own.bus_B;
      sum.time_s += own.time_s;
      sum.exposed_s += own.exposed_s;
      sum.recorded_s += own.recorded_s;
    }
    const auto calls = static_cast<double>(sum.calls);
    OperationTimes row{op, calls / ranks, sum.size_B / ranks, sum.time_s / ranks, sum.exposed_s / ranks};
    if (sum.time_s > 0) row.bus_bandwidth_Bps = sum.bus_B / sum.time_s;
    if (sum.calls > 0 && sum.recorded_calls == sum.calls) {
      row.recorded_s = sum.recorded_s / ranks;
      if (sum.recorded_s > 0) row.recorded_bus_bandwidth_Bps = sum.bus_B / sum.recorded_s;
    }
    all.push_back(std::move(row));
  }
  return all;
}

namespace {

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json operations_json(const std::vector<OperationTimes>& operations) {
  Json rows = Json::array();
  for (const OperationTimes& row : operations)
    rows.push_back({{"op", row.op},
                    {"calls", row.calls},
                    {"size_B", row.size_B},
                    {"time_s", row.time_s},
                    {"exposed_s", row.exposed_s},
                    {"bus_bandwidth_Bps", row.bus_bandwidth_Bps},
                    {"recorded_s", or_null(row.recorded_s)},
                    {"recorded_bus_bandwidth_Bps", or_null(row.recorded_bus_bandwidth_Bps)}});
  return rows;
}

void put_times(Json& out, const JobTimes& job) {
  out["step_time_s"] = or_null(job.step_time_s);
  out["steps_s"] = job.steps_s;
  out["recorded_step_time_s"] = or_null(job.recorded_step_time_s);
  out["recorded_steps_s"] = job.recorded_steps_s;
  out["exposed_communication_s"] = job.exposed_communication_s;
  out["operations"] = operations_json(job.operations);
}

void put_ends(Json& out, const std::string& name, const ReplayInterval& interval) {
  out[name + "_low_s"] = or_null(interval.low_s);
  out[name + "_high_s"] = or_null(interval.high_s);
}

Json ranks_json(const ReplayResult& result) {
  Json ranks = Json::array();
  for (const RankResult& rank : result.ranks) {
    Json row{{"rank", rank.rank}, {"gpu", rank.gpu}};
    if (result.jobs.size() > 1) row["job"] = rank.job;
    row["compute_s"] = rank.times.compute_s;
    row["communication_s"] = rank.times.communication_s;
    row["exposed_s"] = rank.times.exposed_s;
    row["waiting_s"] = rank.times.waiting_s;
    row["idle_s"] = rank.times.idle_s;
    ranks.push_back(std::move(row));
  }
  return ranks;
}

Json jobs_json(const ReplayResult& result) {
  Json jobs = Json::array();
  for (const JobTimes& job : result.jobs) {
    Json row{{"trace", job.trace}, {"gpus", job.gpus}};
    put_times(row, job);
    put_ends(row, "step_time", job.step_interval);
    jobs.push_back(std::move(row));
  }
  return jobs;
}

Json path_json(const CriticalPath& path) {
  return {{"host_s", path.seconds[CriticalPath::kHost]},
          {"launch_s", path.seconds[CriticalPath::kLaunch]},
          {"compute_s", path.seconds[CriticalPath::kCompute]},
          {"copy_s", path.seconds[CriticalPath::kCopy]},
          {"network_s", path.seconds[CriticalPath::kNetwork]}};
}

}  // namespace

Json to_json(const ReplayResult& result) {
  Json out{{"platform", result.platform}, {"time_s", result.makespan_s}, {"makespan_s", result.makespan_s}};
  put_times(out, result.jobs.front());
  out["ranks"] = ranks_json(result);
  if (result.jobs.size() > 1) out["jobs"] = jobs_json(result);
  out["links"] = Json::array();
  for (const LinkUse& link : result.links)
    out["links"].push_back(
        {{"id", link.id}, {"carried_B", link.carried_B}, {"utilisation", result.utilisation_of(link)}});
  out["bottleneck"] = result.bottleneck;
  out["critical_path"] = path_json(result.critical_path);
  const JobTimes& first = result.jobs.front();
  out["compute_device"] = first.compute_device.empty() ? Json() : Json(first.compute_device);
  out["other_gpu"] = first.other_gpu.empty() ? Json() : Json(first.other_gpu);
  out["bound"] = result.bound.empty() ? Json() : Json(result.bound);
  if (result.utilisation) out["utilisation"] = *result.utilisation;
  out["events"] = result.events;
  out["warnings"] = result.warnings;
  put_ends(out, "time", result.interval.value_or(ReplayInterval{}));
  put_ends(out, "step_time", result.jobs.front().step_interval);
  return out;
}

}  // namespace linkcast::replay
