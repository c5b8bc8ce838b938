#include "sim/collective/collective_launch.hpp"

#include <algorithm>
#include <vector>

#include "sim/units/index.hpp"

namespace linkcast::collective {
namespace {

/// Most messages that one rank sends or gets, with the part that it keeps where that goes the same way.
/// source: NVIDIA/nccl-tests src/alltoall.cu, gather.cu, scatter.cu: ncclSend and ncclRecv of every rank, itself too
int sends_of(const CollectiveJob& job) {
  if (!job.of_messages()) return 1;
  const int ranks = job.ranks();
  if (job.op.every_pair() || job.op.traits().parts == PartSizes::kOfPairs) return ranks;
  std::vector<int> out(at(ranks)), in(at(ranks));
  for (const PairMessage& message : job.op.messages({job.size_B}, ranks)) {
    ++out[at(message.from)];
    ++in[at(message.to)];
  }
  const int most = std::max(*std::max_element(out.begin(), out.end()), *std::max_element(in.begin(), in.end()));
  return most + (job.op.own_part() ? 1 : 0);
}

}  // namespace

launch::Call call_of(const CollectiveJob& job) {
  return {static_cast<int>(job.communicator.gpus.size()), sends_of(job),
          job.op.grouped_call().empty() ? 1 : job.ranks(), job.of_messages() && !job.op.own_part(),
          job.of_rounds() || job.rings().groups_calls()};
}

launch::Launching launching_of(const CollectiveJob& job, const launch::HostCosts& costs, launch::Kind kind) {
  if (kind == launch::Kind::kGraph) return {};
  return {kind, job.calls, costs.of(kind, call_of(job)), costs.synchronise(), costs.lender(launch::name_of(kind))};
}

}  // namespace linkcast::collective
