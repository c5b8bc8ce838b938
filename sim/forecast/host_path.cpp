#include "sim/forecast/host_path.hpp"

#include <algorithm>
#include <cmath>

#include "sim/forecast/alignment.hpp"
#include "sim/records/calibration.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::collective {
namespace {

// Bytes that a block asks for before it waits: 512 threads of 8 bytes in LL, of 16 bytes twice in Simple.
// source: NCCL's kernels (models/libraries/SOURCES.md, threads); the number of loads on their way is assumed
constexpr double kAsked_LL_B = 512 * 8, kAsked_B = 512 * 16 * 2;
constexpr double kBlockSpread = 0.4;  // source: as kAsked_B, one load more or less
// NCCL's buffers of messages over PCIe: 8 chunks of 128 KiB.
// source: NCCL_P2P_PCI_CHUNKSIZE (NCCL user guide); 8 steps (models/libraries/SOURCES.md)
constexpr double kMessageBuffer_B = 8 * 131072;
// A warp's threads write what lies side by side into one packet. source: NVIDIA CUDA C++ Programming Guide, device
// memory accesses: 32 threads, packets of at most 128 bytes
constexpr double kWarp = 32, kLargestPacket_B = 128;
// Header, sequence number, checksum and framing. source: PCI Express Base Specification 5.0: 16 + 4 + 4 bytes
constexpr double kPacketHeader_B = 24;

bool any_through_host(const std::vector<Hop>& hops) {
  return std::any_of(hops.begin(), hops.end(), [](const Hop& hop) { return hop.kind == HopKind::kHostMemory; });
}

double with_header(double payload_B) { return (payload_B + kPacketHeader_B) / payload_B; }

}  // namespace

bool through_host(const Communicator& communicator) {
  return std::any_of(communicator.channels.begin(), communicator.channels.end(),
                     [](const Channel& ring) { return any_through_host(ring.hops); });
}

bool trees_through_host(const Communicator& communicator) {
  return std::any_of(communicator.trees.begin(), communicator.trees.end(),
                     [](const Tree& tree) { return any_through_host(tree.hops); });
}

bool messages_through_host(const Communicator& communicator) {
  if (communicator.pairs.empty()) return through_host(communicator);
  const std::size_t count = communicator.gpus.size();
  for (std::size_t i = 0; i < communicator.pairs.size(); ++i)
    if (i / count != i % count && communicator.pairs[i].kind == HopKind::kHostMemory) return true;
  return false;
}

void take_host_path(const Platform& platform, const Communicator& communicator, const std::string& protocol,
                    const LibraryRow& blocks, double share, CollectiveCost& cost) {
  const LibraryParameters known = platform.library_parameters();
  const std::string& library = communicator.library;
  if (platform.transports().measured("h2d_sm"))
    cost.add(Figure::kLinks, term_of(uncertainty::term::kHostPath, learned(known, library, key::host_data_share),
                                     key::host_data_share));
  if (!cost.measured(Figure::kBase)) return;
  const Learned base = learned(known, library, key::host_base[protocol], {cost.base_s + kHostLoad_s, kHostLoadSpread});
  const Learned hop = learned(known, library, key::host_hop[protocol], {cost.hop_s + kHostLoad_s, kHostLoadSpread});
  cost.base_s = base.value;
  cost.set(Figure::kBase, {{uncertainty::term::kBase, 0, ErrorPart(base),
                            uncertainty::source_of(base, uncertainty::kPrior), &key::host_base[protocol]}});
  cost.hop_s = hop.value;
  cost.set(Figure::kHop, {{uncertainty::term::kHops, 0, ErrorPart(hop),
                           uncertainty::source_of(hop, uncertainty::kPrior), &key::host_hop[protocol]}});
  const double asked_B = protocol == "LL" ? kAsked_LL_B : kAsked_B;
  const Learned rate = learned(known, library, blocks, {asked_B / kHostLoad_s, kBlockSpread});
  if (share * rate.value < cost.channel_Bps) {
    cost.channel_Bps = share * rate.value;
    cost.set(Figure::kBlock, {term_of(uncertainty::term::kHostPath, rate, blocks)});
  }
  cost.copy_steps = cost.reduce_steps = cost.read_steps = cost.copy_s = cost.reduce_s = cost.read_s =
      0;  // all ranks keep step: add_host_hops() counts the turns
}

double ring_buffers_B(const CollectiveJob& job, int blocks) {
  return std::min(blocks * job.buffer_B("Simple"), 2 * job.size_B / job.ranks());
}

double message_buffers_B(int blocks, int peers) { return kMessageBuffer_B * blocks * peers; }

activities::HostHops host_hops(const Platform& platform, const Communicator& communicator, bool through, int steps,
                               double elements_B, double buffers_B) {
  activities::HostHops hops;
  if (!through || !platform.transports().measured("h2d_sm")) return hops;
  const LibraryParameters known = platform.library_parameters();
  const std::string& library = communicator.library;
  hops.steps = steps;
  hops.wire = with_header(std::min(kLargestPacket_B, kWarp * elements_B)) / with_header(kLargestPacket_B) /
              learned(known, library, key::host_data_share).value;
  // The cache is shared by all GPUs of the CPU, as if all of them did the same.
  const int cpu = platform.socket_of(platform.gpu(communicator.gpus.front()));
  int sharers = 0;
  for (int gpu = 0; gpu < platform.gpu_count(); ++gpu) sharers += platform.socket_of(platform.gpu(gpu)) == cpu ? 1 : 0;
  const double cache_B = learned(known, library, key::host_cache).value;
  hops.memory = std::max(0.0, 1 - cache_B / std::max(cache_B, sharers * buffers_B));
  return hops;
}

double element_B(const Collective& op, const std::string& protocol, double distance_B) {
  // Sums are made of numbers of 4 bytes, copies of bytes. source: nccl-tests' default type; NCCL copies as ncclInt8
  constexpr double kNumber_B = 4, kByte_B = 1, kWidest_B = 16;
  if (protocol == "LL" || access_width_B(distance_B) == kWidest_B) return kWidest_B;
  return op.traits().reduces ? kNumber_B : kByte_B;
}

}  // namespace linkcast::collective
