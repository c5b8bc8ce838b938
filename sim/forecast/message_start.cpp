#include "sim/forecast/message_start.hpp"

#include <algorithm>

#include "sim/forecast/alignment.hpp"

namespace linkcast::collective {

namespace {

constexpr int kAligned_B = 16;

/// Whether each part of a rank's buffers begins at 16 bytes.
bool aligned(const CollectiveJob& job) {
  if (job.op.traits().parts != PartSizes::kOfPairs)
    return access_width_B(part_distance_B(job, job.size_B / job.ranks())) >= kAligned_B;
  const std::vector<PairMessage> messages = job.op.messages({job.size_B}, job.ranks());
  return std::all_of(messages.begin(), messages.end(),
                     [](const PairMessage& one) { return access_width_B(one.size.si) >= kAligned_B; });
}

/// @param distance_B  of the parts of its buffer; 0: of none
MessageStart start_of(const CollectiveJob& job, const MessageChoice& choice, double distance_B) {
  MessageStart start{choice, cost_of(job, {kGroupedMessages, choice.protocol, 1})};
  if (job.op.traits().root && choice.protocol == "Simple") {
    const Learned unidirectional =
        learned(job.node().library_parameters(), job.communicator.library, key::sendrecv_unidirectional);
    start.cost.channel_Bps *= unidirectional.value;
    start.cost.add(Figure::kBlock,
                   term_of(uncertainty::term::kSerialisation, unidirectional, key::sendrecv_unidirectional));
  }
  // A block that sends and receives has 10 of 20 warps for what it sends and 9 for the rest, a ring's 16 for both in
  // turn. source: models/libraries/SOURCES.md, "Graph era: messages"; four H200, parts of 16 to 64 KiB: 6 GB/s, one
  // way 9.7
  constexpr double kWarps = 10.0 / 16;
  if (!job.op.traits().root && choice.protocol == "LL") start.cost.channel_Bps *= kWarps;
  // Messages on several blocks begin later than those on one.
  // source: pairs of H200, sendrecv: 6.8 us up to 2 KiB, 8.0 us of 8 KiB in two blocks, 8.3 us of 64 KiB in 16
  constexpr double kSeveral_s = 0.7e-6;
  if (choice.channels > 1 && job.one_node()) start.cost.base_s += kSeveral_s;
  // A block of a rank that only sends or only receives starts one of its two jobs.
  // source: pairs of H100 and H200 and four H200, 8 B to 2 KiB: gather 5.9 to 6.1 us, sendrecv 6.6 to 6.8
  constexpr double kUnidirectional = 0.9;
  if (job.op.traits().root) start.cost.base_s *= kUnidirectional;
  const bool narrow = narrow_blocks(job.node(), job.rings(), job.communicator, choice.protocol, distance_B, start.cost);
  // Where threads move single elements they are the limit too.
  // source: three H100, parts off 16 bytes, one and four channels: alltoall at 8 bytes 10.3 GB/s a block, at 4 bytes
  // 6.2 (calibrate/data/hgx-h100/20261126i-nccl_base.json)
  if (narrow && choice.protocol == "Simple") start.cost.channel_Bps *= kWarps;
  const double between = job.one_node() ? 0 : 1;
  start.cost.channel_Bps = std::min(start.cost.channel_Bps, start.cost.network_Bps);
  start.latency_s = start.cost.latency_s({1, between});
  start.latency_terms = start.cost.latency_terms({1, between});
  return start;
}

/// Parts of no bytes are not copied either. source: PyTorch, torch/csrc/cuda/nccl.cpp, all2all_single_unequal_split()
bool keeps_nothing(const CollectiveJob& job) {
  if (job.op.traits().parts != PartSizes::kOfPairs || job.op.parts_B().empty()) return false;
  const std::size_t ranks = at(job.ranks());
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (job.op.parts_B()[rank * ranks + rank] > 0) return false;
  return true;
}

}  // namespace

double own_messages(const CollectiveJob& job) {
  if (!job.op.own_part() || job.op.traits().root || keeps_nothing(job)) return 0;
  // source: pairs of H100 and H200, one channel, 32 MiB: alltoall 14.5 GB/s, sendrecv 21.1
  constexpr double kOwn = 0.5;
  return aligned(job) ? kOwn : 1;
}

const MessageStart& MessageStarts::of(double bytes) {
  if (!(job_.algorithm.empty() && job_.protocol.empty()))
    throw InputError("op: " + job_.op_name + " is made of messages, which take no algorithm and no protocol");
  const auto choice = job_.rings().message(job_.communicator, {bytes}, job_.channels);
  if (!choice)
    throw InputError("op: " + job_.communicator.library + " has no " + job_.op_name +
                     ", sends and receives came with 2.7");
  const double distance_B = job_.op.own_part() ? part_distance_B(job_, bytes) : 0;
  const std::tuple key{choice->protocol, choice->channels, choice->all_channels, choice->payload_share,
                       access_width_B(distance_B)};
  auto known = known_.find(key);
  if (known == known_.end()) known = known_.emplace(key, start_of(job_, *choice, distance_B)).first;
  return known->second;
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
