#pragma once
#include "sim/replay/replay_run.hpp"

namespace linkcast::replay {

/// Answer of a query of kind replay, without its provenance: to_json() and the traffic summed over ranks.
Json replay_answer(catalogue::Catalogue& catalogue, const ReplayRequest& request);

}  // namespace linkcast::replay
