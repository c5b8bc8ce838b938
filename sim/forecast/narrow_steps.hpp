#pragma once
// Rings that keep step, where parts do not begin at 16 bytes and some hops go through host memory.
#include "sim/forecast/collective_cost.hpp"
#include "sim/forecast/collective_job.hpp"

namespace linkcast::collective {

/// What hops through host memory leave of the rate of narrow blocks (narrow_blocks()). A thread waits for its few bytes
/// each time, longer for those in the host's memory than for those in its own. All hops wait for the slowest one, and a
/// part that is not narrow passes host memory as fast as NVLink: which parts do follows from operation and order.
/// @param distance_B  between the parts; 0: the library places its pieces as it likes
/// @returns  share of the rate, 1 where nothing narrow goes through host memory; its spread goes to `cost`
double narrow_host_share(const CollectiveJob& job, const Channel& ring, double distance_B, CollectiveCost& cost);

}  // namespace linkcast::collective
