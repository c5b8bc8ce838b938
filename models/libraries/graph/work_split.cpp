// How many thread blocks and threads a size keeps busy.
#include <algorithm>
#include <cmath>

#include "models/libraries/graph/tuner.hpp"

namespace linkcast::graph {
namespace {

// source of this block: models/libraries/SOURCES.md, "Graph era: blocks and threads"
constexpr int kThreads = 512, kThreadsLL128 = 640, kThreadsNvls = 640, kThreadsNarrow = 256;
constexpr double kNarrow = 12e9;  // source: the same; bytes/s of all rings together
constexpr double kLeastPerThreadLL = 8, kLeastPerThreadLL128 = 8, kLeastPerThreadSimple = 64;
constexpr int kHalvedWhileMultipleOf = 128;
constexpr double kCellTraffic = 16384, kCellGrain = 16, kLLTraffic = 4, kAllReduceTraffic = 2;

// Messages. source: models/libraries/SOURCES.md, "Graph era: messages"
constexpr double kLeastPart_B = 65536, kMostPart_B = 16777216, kLLPart_B = 16384;

int most_threads(const Communicator& made, const TunerEntry& entry) {
  if (tuned(entry.algorithm).multicast) return kThreadsNvls;
  if (entry.protocol == "LL128") return kThreadsLL128;
  const double bus = static_cast<double>(made.channels.size()) * channel_bandwidth(made).si;
  const bool narrow = tuned(entry.algorithm).ring && entry.protocol == "Simple" && bus <= kNarrow;
  return narrow ? kThreadsNarrow : kThreads;
}

double least_per_thread(const Communicator& made, const TunerEntry& entry) {
  if (entry.protocol == "Simple") return kLeastPerThreadSimple;
  if (entry.protocol == "LL128") return kLeastPerThreadLL128;
  return kLeastPerThreadLL * (tuned(entry.algorithm).ring ? made.ranks() : 1);
}

/// Work goes to channels in whole cells of at least 16 KiB of traffic, so that rounding up may leave some without any.
int channels_with_cells(int channels, const Communicator& made, const TunerEntry& entry, const TunerRequest& request) {
  const double ranks = made.ranks();
  const RingOperation operation = ring_operation(made.library, request.operation);
  const bool split = operation == RingOperation::kAllGather || operation == RingOperation::kReduceScatter;
  const double traffic = (split                                    ? ranks
                          : operation == RingOperation::kAllReduce ? kAllReduceTraffic
                                                                   : 1) *
                         (entry.protocol == "LL" ? kLLTraffic : 1);
  const double cell_B = std::ceil(std::ceil(kCellTraffic / traffic) / kCellGrain) * kCellGrain;
  const double cells = std::max(1.0, std::ceil(request.size.si / (split ? ranks : 1) / cell_B));  // of nothing: one
  return static_cast<int>(std::ceil(cells / std::ceil(cells / channels)));
}

}  // namespace

TunerChoice with_blocks(const TunerTraits& traits, const Communicator& communicator, const TunerEntry& entry,
                        const TunerRequest& request) {
  TunerChoice choice{entry, 0, most_threads(communicator, entry), kPayloadShare[protocol_index(entry.protocol)]};
  if (tuned(entry.algorithm).multicast) {
    choice.channels = communicator.nvls_blocks;
    return choice;
  }
  for (const Channel& channel : communicator.channels) choice.channels += channel.blocks;
  const double least = least_per_thread(communicator, entry);
  while (request.size.si < choice.channels * choice.threads * least) {
    if (choice.channels >= 2)
      --choice.channels;
    else if (choice.threads % kHalvedWhileMultipleOf == 0)
      choice.threads /= 2;
    else
      break;
  }
  if (traits.cells) choice.channels = channels_with_cells(choice.channels, communicator, entry, request);
  return choice;
}

MessageChoice message_of(const Communicator& communicator, double size_B) {
  int channels = 0;
  for (const Channel& channel : communicator.channels) channels += channel.blocks;
  int all = 1, ranks = 1;
  while (all < channels) all *= 2;
  while (ranks < communicator.ranks()) ranks *= 2;
  MessageChoice choice;
  const int least = std::max(1, all / ranks);
  choice.channels = std::max(1, std::min(least, static_cast<int>(std::ceil(size_B / kLeastPart_B))));
  while (size_B / choice.channels > kMostPart_B && choice.channels <= all / 2) choice.channels *= 2;
  const bool small = size_B / least <= kLLPart_B;
  if (small) choice.channels = std::max(1, std::min(least, static_cast<int>(std::ceil(size_B / kLLPart_B))));
  choice.all_channels = all;
  choice.protocol = small ? "LL" : "Simple";
  choice.payload_share = kPayloadShare[protocol_index(choice.protocol)];
  return choice;
}

}  // namespace linkcast::graph
