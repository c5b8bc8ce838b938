#include "sim/replay/replay_result.hpp"

namespace linkcast::replay {
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
    if (result.interval) put_ends(row, "step_time", job.step_interval);
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
  if (!result.interval) return out;
  put_ends(out, "time", *result.interval);
  put_ends(out, "step_time", result.jobs.front().step_interval);
  return out;
}

}  // namespace linkcast::replay
