#pragma once
#include "sim/replay/replay_run.hpp"

namespace linkcast::replay {

/// The answer of a query of kind replay, but for where it comes from: to_json() and, summed over ranks, the traffic.
Json replay_answer(catalogue::Catalogue& catalogue, const ReplayRequest& request);

}  // namespace linkcast::replay
