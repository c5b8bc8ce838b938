#pragma once
#include "sim/records/object_reader.hpp"
#include "sim/replay/replay_run.hpp"

namespace linkcast::replay {

/// Keys of a query of kind replay, see sim/replay/query/replay_query.cpp. @param platform  with the edits
/// @throws InputError
ReplayRequest read_replay_request(const std::string& platform, ObjectReader& r);

}  // namespace linkcast::replay
