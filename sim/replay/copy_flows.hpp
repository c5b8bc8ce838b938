#pragma once
#include "sim/activities/plan.hpp"
#include "sim/catalogue/catalogue.hpp"
#include "sim/replay/network.hpp"

namespace linkcast::replay {

/// A copy of a GPU with its host, itself or, pushed by its own engine, another GPU: stages, one after the other, on
/// Platform::constraints(). Its queues are the node's copy engines, of which each serves one copy at a time, whatever
/// stream it is of.
/// @param op  its GPUs are numbers of the node. @param behind  another copy on the same engine: that one pays the start
/// from rest, this one a turn
activities::Plan copy_plan(catalogue::Catalogue& catalogue, const std::string& platform_id, const NetworkOp& op,
                           bool behind);

}  // namespace linkcast::replay
