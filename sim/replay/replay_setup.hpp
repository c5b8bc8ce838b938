#pragma once
// What a replay is made of: its network, and its jobs on GPUs.
#include <memory>
#include <string>
#include <vector>

#include "sim/replay/network.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/replay_request.hpp"

namespace linkcast::replay {

/// @param gpus  of the machine. @param runs  that take the events of the same reading
/// @throws InputError  no such trace, or no such place for it
std::vector<ReplayJob> jobs_of(const ReplayRequest& request, const std::string& data_dir, int gpus, int runs = 1);

/// Of all jobs.
std::size_t ranks_of(const std::vector<ReplayJob>& jobs);

/// @param plans  of all networks of the same request; null: it makes its own
std::unique_ptr<ReplayNetwork> network_of(catalogue::Catalogue& catalogue, const ReplayRequest& request,
                                          IntervalEnd end = IntervalEnd::kNone,
                                          std::shared_ptr<SharedPlans> plans = nullptr);

}  // namespace linkcast::replay
