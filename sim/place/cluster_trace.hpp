#pragma once
// An application's time on nodes of a cluster.
#include "sim/place/place_request.hpp"

namespace linkcast::placement {

struct TraceTime {
  double time_s = 0, low_s = 0, high_s = 0;  ///< of a step where the trace marks any, else of the whole
  std::vector<std::string> warnings{};
};

/// @param own  a user's schedule, or null. @param nodes  of the fabric, in rank order; each gives its first GPUs.
/// @param interval  costs two more runs
/// @throws InputError
TraceTime trace_on_nodes(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine,
                         const std::string& library, const std::shared_ptr<const Algorithm>& own, const JobSpec& job,
                         const std::vector<int>& nodes, int gpus_per_node, bool interval);

}  // namespace linkcast::placement
