#pragma once
// Rings and trees in steady state as activities: one flow over all hops, limited by the slowest.
#include <vector>

#include "sim/forecast/transfer.hpp"
#include "sim/plugin/communicator.hpp"

namespace linkcast {

/// How the bytes of one channel travel.
struct ChannelLoad {
  double bytes = 0;          ///< payload that crosses each hop
  double payload_share = 1;  ///< payload / bytes stored
  double rate_cap_Bps = 0;   ///< most payload the thread blocks move each way
};

/// @param closed  the last member sends to the first too
Activity ring_activity(const ProblemBuilder& builder, const Channel& ring, bool closed, const ChannelLoad& load);
/// The way up to the root and the way down, which flow at once.
std::vector<Activity> tree_activities(const ProblemBuilder& builder, const Tree& tree, const ChannelLoad& load);

/// One message between two members.
Activity message_activity(const ProblemBuilder& builder, const Hop& hop, const ChannelLoad& load);

}  // namespace linkcast
