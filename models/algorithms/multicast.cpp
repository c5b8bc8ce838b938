#include "models/algorithms/multicast.hpp"

#include <algorithm>
#include <array>

#include "sim/base/index.hpp"

namespace linkcast {

using collective::Figure;

namespace {

// One thread block of multicast, whose warps copy into the shared buffer, load sums and store. source: assumed, as a
// block of a ring in Simple (sim/records/parameter_rows.hpp); 475 GB/s of bus that nccl-tests is said to show on 8 H100
// need 17 GB/s of each
constexpr LibraryRow kChannel{{.what = "channel_Bps",
                               .unit = "B/s",
                               .meaning = "NCCL: most that one thread block moves by NVSwitch",
                               .subject = "nvls",
                               .prior = Prior{25e9, 0.5}}};  // source: as above
constexpr LibraryRow kLinkShare{{.what = "link_share",
                                 .unit = "1",
                                 .meaning = "NCCL: share of the links' rate that multicast attains",
                                 .subject = "nvls"}};

// Flags, barriers and fences of a chunk. source: assumed, of the order of a hop in Simple; eight H200 and B200 take 3
// to 11 us (docs/communicators.md)
constexpr LibraryRow kChunk{{.what = "chunk_s",
                             .unit = "s",
                             .meaning = "NCCL: what a round of chunks by NVSwitch takes, but for its bytes",
                             .subject = "nvls",
                             .prior = Prior{5e-6, 0.7}}};  // source: as above

struct LeastChunks {
  double chunks, B;  ///< a block's part of less than so many rounds is cut into chunks of so many bytes
};

/// @source  NCCL 2.30.7: calcCollChunking() in src/enqueue.cc, NCCL_NVLS_CHUNKSIZE in src/transport/nvls.cc
double chunk_B(const collective::CollectiveJob& job, double each_B, bool tree) {
  constexpr double kKi = 1024, kMost = 128 * kKi, kMostOfMany = 64 * kKi;
  constexpr int kMany = 4;
  constexpr std::array<LeastChunks, 3> kNvls = {{{64, 64 * kKi}, {8, 32 * kKi}, {2, 16 * kKi}}};
  constexpr std::array<LeastChunks, 3> kTree = {{{16, 128 * kKi}, {4, 64 * kKi}, {1, 32 * kKi}}};
  double chunk = std::min(tree && job.communicator.nodes >= kMany ? kMostOfMany : kMost, job.step_B("Simple"));
  for (const LeastChunks& least : tree ? kTree : kNvls)
    if (each_B < least.chunks * chunk) chunk = std::min(chunk, least.B);
  return chunk;
}

}  // namespace

MulticastRounds multicast_rounds(const collective::CollectiveJob& job, int blocks, bool tree) {
  const double each = std::max(1, blocks) * static_cast<double>(multicast_heads(job.communicator).size());
  const CollectiveTraits traits = job.op.traits();
  const double each_B = job.size_B / each;
  return {std::max(1.0, each_B / chunk_B(job, each_B, tree)), (traits.reduces ? 1 : 0) + (traits.gathers ? 1 : 0)};
}

std::vector<const ParameterRow*> multicast_parameters() { return {&kChannel, &kLinkShare, &kChunk}; }

std::vector<int> multicast_heads(const Communicator& communicator) {
  if (communicator.nodes == 1) {
    std::vector<int> heads = communicator.gpus;
    heads.resize(at(std::min(static_cast<int>(heads.size()), communicator.nvls_channels)));
    return heads;
  }
  std::vector<int> heads;
  for (const Channel& channel : communicator.channels)
    if (std::find(heads.begin(), heads.end(), channel.order.front()) == heads.end())
      heads.push_back(channel.order.front());
  return heads;
}

std::vector<std::vector<int>> multicast_orders(const Communicator& communicator) {
  std::vector<std::vector<int>> orders;
  for (const int head : multicast_heads(communicator)) orders.push_back({head});
  return orders;
}

collective::CollectiveCost multicast_cost(const collective::CostRequest& request, const std::string& algorithm,
                                          const collective::LatencyRows& rows) {
  const LibraryParameters known = request.platform.library_parameters();
  const std::string& library = request.communicator.library;
  collective::CollectiveCost cost;
  const Learned share =
      learned(known, library, kLinkShare, request.library.multicast_share(request.platform, request.communicator));
  const Learned block = learned(known, library, kChannel);
  cost.link_share = std::min(1.0, share.value);
  cost.set(Figure::kLinks, {{uncertainty::term::kSerialisation, 0, ErrorPart(share),
                             uncertainty::source_of(share, uncertainty::kTable), &kLinkShare}});
  cost.channel_Bps = block.value;
  cost.set(Figure::kBlock, {collective::term_of(uncertainty::term::kSerialisation, block, kChannel)});
  if (request.communicator.nodes > 1) collective::set_network_rate(request, cost);
  collective::set_table_latency(request, algorithm, rows, cost);
  const Learned chunk = learned(known, library, kChunk);
  cost.hop_s = chunk.value;
  cost.set(Figure::kHop, {collective::term_of(uncertainty::term::kHops, chunk, kChunk)});
  collective::wait_for_slowest(request, cost);
  return cost;
}

std::vector<std::string> multicast_warnings(const collective::CollectiveJob& job,
                                            const collective::CollectivePlan& plan) {
  if (plan.cost.measured(Figure::kLinks)) return {};
  return {"what multicast by NVSwitch attains of the links was never measured on " + job.node().topology().name +
          ": it is what the library counts on; nvls false leaves it out"};
}

}  // namespace linkcast
