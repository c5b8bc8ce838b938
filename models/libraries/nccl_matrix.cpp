// NCCL 2.0-2.4 on one node: rings from a matrix of links, LL or Simple by size per thread.
#include <algorithm>

#include "models/libraries/compute_capability.hpp"
#include "models/libraries/matrix_rings.hpp"
#include "models/libraries/members.hpp"
#include "models/libraries/pair_transports.hpp"
#include "models/libraries/ring_operation.hpp"
#include "sim/plugin/library.hpp"

namespace linkcast {
namespace {

// source of all in this block: models/libraries/SOURCES.md (NCCL 2.3.7)
constexpr int kMatrixThreads = 256;
constexpr int kThreadsPascalNvlink = 128;
constexpr double kBytesPerThreadPascal = 32;  // and older
constexpr double kBytesPerThreadVolta = 64;   // and newer
constexpr double kPayloadShareLL = 8.0 / 16;  // lines of 8 bytes of data and 8 bytes of flags

// Compute capability x 10. source: CUDA C++ Programming Guide, compute capabilities 6.x and 7.0
constexpr int kPascal = 60;

constexpr double kMatrixMicro = 1e-6;

/// Latencies of one protocol. source: models/libraries/SOURCES.md (table of NCCL 2.5.6)
struct Latencies {
  double base_us, nvlink_hop_us, pci_hop_us;
};
constexpr Latencies kLL{3.6, 0.4, 1.0};      // source: as the struct
constexpr Latencies kSimple{8.4, 5.7, 5.7};  // source: as the struct

const Latencies& latencies(const std::string& protocol) {
  if (protocol == "LL") return kLL;
  if (protocol == "Simple") return kSimple;
  throw InputError("protocol '" + protocol + "': nccl-2.3 has LL, Simple");
}

Channel channel(const PairTable& pairs, const std::vector<int>& gpus, const std::vector<int>& ring, double links) {
  Channel made;
  made.links = links;
  for (const int member : ring) made.order.push_back(gpus[static_cast<std::size_t>(member)]);
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const std::size_t next = (i + 1) % ring.size();
    const bool host = pairs.at(ring[i], ring[next]).kind == PairKind::kHostMemory;
    made.hops.push_back({made.order[i], made.order[next], host ? HopKind::kHostMemory : HopKind::kPeer});
  }
  return made;
}

PathClass worst_class(const PairTable& pairs, const RingPlan& plan) {
  PathClass worst = PathClass::kNvl;
  for (const auto& ring : plan.rings)
    for (std::size_t i = 0; i < ring.size(); ++i)
      worst = std::max(worst, pairs.at(ring[i], ring[(i + 1) % ring.size()]).path_class);
  return worst;
}

int oldest_generation(const Platform& platform, const std::vector<int>& gpus) {
  int sm = platform.topology().devices[static_cast<std::size_t>(platform.gpu(gpus.front()))].sm;
  for (const int gpu : gpus)
    sm = std::min(sm, platform.topology().devices[static_cast<std::size_t>(platform.gpu(gpu))].sm);
  return sm;
}

/// The matrix era, as NCCL 2.3.7, the first open version of it.
/// @source  models/libraries/SOURCES.md (facts about NVIDIA/nccl tag v2.3.7, no code of it)
/// @limits  one node; rings only. Several domains (pairs of GPUs that nothing but host memory joins) become one ring.
class NcclMatrix final : public Library, public RingLibrary {
 public:
  [[nodiscard]] const RingLibrary* rings() const override { return this; }

  /// In a fallback or PCIe ring no NVLink was given out: Channel::links and link_equivalents are 0.
  /// A GPU pair with two links gives two channels of the same order; only thread blocks on one ring are merged.
  [[nodiscard]] Communicator build(const Platform& platform, const std::vector<int>& gpus) const override {
    check_members(platform, gpus);
    const PairTable pairs(platform, gpus);
    RingPlan plan = plan_rings(pairs, gpus);
    Communicator made;
    made.library = "nccl-2.3";
    made.gpus = gpus;
    int spare = plan.duplicated ? kMaxRings - static_cast<int>(plan.rings.size()) : 0;
    for (const auto& ring : plan.rings) {
      made.channels.push_back(channel(pairs, gpus, ring, plan.links_per_ring));
      made.link_equivalents += plan.links_per_ring;
      if (spare-- > 0) made.channels.back().blocks = 2;
    }
    made.path_class = to_text(worst_class(pairs, plan));
    made.fallback = plan.fallback;
    made.why = std::move(plan.why);
    return made;
  }

  /// LL while size <= ranks x rings x threads x bytes a thread, where a ring run by two blocks counts twice. The
  /// library lets blocks and threads grow with the size before that, at 8 bytes a thread and rank; both are at their
  /// limits long before the size is, so the limit alone decides.
  /// @limits  "Pascal with NVLink" is read as: Pascal, and the rings run over NVLink
  [[nodiscard]] ProtocolChoice protocol(const Platform& platform, const Communicator& communicator,
                                        const std::string& operation, Bytes size,
                                        const std::string& forced) const override {
    static_cast<void>(ring_operation(communicator.library, operation));  // throws on one that NCCL lacks
    static_cast<void>(latencies(forced.empty() ? "LL" : forced));        // throws on a protocol this era lacks
    const int sm = oldest_generation(platform, communicator.gpus);
    const bool narrow = sm >= kPascal && sm < kVolta && communicator.path_class == "NVL";
    double blocks = 0;
    for (const Channel& ring : communicator.channels) blocks += ring.blocks;
    const double threads = blocks * (narrow ? kThreadsPascalNvlink : kMatrixThreads);
    const double per_thread = sm >= kVolta ? kBytesPerThreadVolta : kBytesPerThreadPascal;
    const auto ranks = static_cast<double>(communicator.gpus.size());
    const bool small = size.si <= ranks * threads * per_thread;
    const std::string chosen = !forced.empty() ? forced : small ? "LL" : "Simple";
    return {chosen, chosen == "LL" ? kPayloadShareLL : 1};
  }

  /// Of version 2.5, the oldest there is: 2.3 has no cost model.
  [[nodiscard]] Seconds base_latency(const std::string& protocol) const override {
    return {latencies(protocol).base_us * kMatrixMicro};
  }

  /// Of version 2.5, the oldest there is: 2.3 has no cost model.
  [[nodiscard]] Seconds hop_latency(const std::string& protocol, const std::string& path_class) const override {
    const Latencies& row = latencies(protocol);
    return {(path_class == "NVL" ? row.nvlink_hop_us : row.pci_hop_us) * kMatrixMicro};
  }
};

const bool nccl_matrix_registered =
    libraries().add({"nccl-2.3", "NCCL 2.0-2.4 on one node: rings packed into a matrix of links",
                     "models/libraries/SOURCES.md (facts about NVIDIA/nccl tag v2.3.7)"},
                    [] { return std::make_unique<NcclMatrix>(); });

}  // namespace
}  // namespace linkcast
