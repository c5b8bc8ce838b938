#include "sim/place/cluster_trace.hpp"

#include <algorithm>

#include "sim/replay/replay_run.hpp"

namespace linkcast::placement {

TraceTime trace_on_nodes(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine,
                         const std::string& library, const std::shared_ptr<const Algorithm>& own, const JobSpec& job,
                         const std::vector<int>& nodes, int gpus_per_node, bool interval) {
  std::vector<int> gpus;
  for (const int node : nodes)
    for (int gpu = 0; gpu < gpus_per_node; ++gpu) gpus.push_back(node * gpus_per_node + gpu);
  replay::ReplayRequest request;
  request.machine = machine;
  request.library = library;
  request.own = own;
  request.nodes = *std::max_element(nodes.begin(), nodes.end()) + 1;
  request.gpus_per_node = gpus_per_node;
  request.interval = interval;
  request.parts.push_back({job.trace, gpus, static_cast<int>(gpus.size()), job.options});
  const replay::ReplayResult result = replay::replay(catalogue, request);
  const replay::JobTimes& times = result.jobs.front();
  TraceTime time;
  time.time_s = time.low_s = time.high_s = times.step_time_s.value_or(result.makespan_s);
  time.warnings = result.warnings;
  const replay::ReplayInterval found =
      times.step_time_s ? times.step_interval : result.interval.value_or(replay::ReplayInterval{});
  if (found.low_s && found.high_s) {
    time.low_s = *found.low_s;
    time.high_s = *found.high_s;
  }
  return time;
}

}  // namespace linkcast::placement
