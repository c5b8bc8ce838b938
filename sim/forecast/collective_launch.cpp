#include "sim/forecast/collective_launch.hpp"

#include <algorithm>
#include <vector>

#include "sim/base/index.hpp"

namespace linkcast::collective {
namespace {

struct Sends {
  double busiest = 1, of_node = 1;
};

/// Of the GPU and of the node with most: messages, the part that a rank keeps among them where it goes the same way,
/// half of one at its sender, half at its receiver. source: NVIDIA/nccl-tests src/alltoall.cu, gather.cu, scatter.cu:
/// ncclSend and ncclRecv of every rank, itself too
Sends sends_of(const CollectiveJob& job) {
  const int ranks = job.ranks(), gpus = static_cast<int>(job.communicator.gpus.size());
  if (!job.of_messages()) return {1, static_cast<double>(gpus)};
  if (job.op.every_pair() || job.op.traits().parts == PartSizes::kOfPairs)
    return {static_cast<double>(ranks), static_cast<double>(ranks) * gpus};
  std::vector<double> of(at(ranks)), of_node(at(job.communicator.nodes));
  const auto add = [&](int from, int to) {
    for (const int end : {from, to}) {
      of[at(end)] += 0.5;
      of_node[at(end / gpus)] += 0.5;
    }
  };
  for (const PairMessage& message : job.op.messages({job.size_B}, ranks)) add(message.from, message.to);
  // Of a gather and a scatter: the root's own part alone.
  if (job.op.own_part()) add(0, 0);
  return {*std::max_element(of.begin(), of.end()), *std::max_element(of_node.begin(), of_node.end())};
}

}  // namespace

launch::Call call_of(const CollectiveJob& job) {
  const Sends sends = sends_of(job);
  return {static_cast<int>(job.communicator.gpus.size()),
          sends.busiest,
          sends.of_node,
          job.op.grouped_call().empty() ? 1 : job.ranks(),
          job.of_messages() && !job.op.own_part(),
          job.of_rounds() || job.rings().groups_calls()};
}

launch::Launching launching_of(const CollectiveJob& job, const launch::HostCosts& costs, launch::Kind kind) {
  if (!launch::by_host(kind)) return {.kind = kind};
  return {kind, job.calls, costs.of(kind, call_of(job)), costs.synchronise(), costs.lender(launch::name_of(kind))};
}

}  // namespace linkcast::collective
