#include "sim/forecast/message_start.hpp"

#include <algorithm>

#include "sim/forecast/alignment.hpp"

namespace linkcast::collective {

MessageStart message_start(const CollectiveJob& job, double bytes) {
  if (!(job.algorithm.empty() && job.protocol.empty()))
    throw InputError("op: " + job.op_name + " is made of messages, which take no algorithm and no protocol");
  const auto choice = job.rings().message(job.communicator, {bytes});
  if (!choice)
    throw InputError("op: " + job.communicator.library + " has no " + job.op_name +
                     ", sends and receives came with 2.7");
  MessageStart start{*choice, cost_of(job, {kGroupedMessages, choice->protocol, 1})};
  narrow_blocks(job.node(), job.rings(), job.communicator, choice->protocol, job.op.own_part() ? bytes : 0, start.cost);
  const double between = job.one_node() ? 0 : 1;
  start.cost.channel_Bps = std::min(start.cost.channel_Bps, start.cost.network_Bps);
  start.latency_s = start.cost.latency_s(1, between);
  start.latency_terms = start.cost.latency_terms(1, between);
  return start;
}

CollectivePlan plan_of_group(const MessageStart& largest, double bytes) {
  CollectivePlan plan{
      {kGroupedMessages, largest.choice.protocol, largest.choice.channels, largest.choice.payload_share}, largest.cost};
  plan.latency_s = largest.latency_s;
  plan.latency_terms = largest.latency_terms;
  plan.busiest_B = bytes;
  return plan;
}

}  // namespace linkcast::collective
