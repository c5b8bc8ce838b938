// NCCL 2.0-2.4 on one node: rings from a matrix of links, LL or Simple by size per thread.
#include <fmt/format.h>

#include <algorithm>

#include "models/libraries/compute_capability.hpp"
#include "models/libraries/early_latencies.hpp"
#include "models/libraries/early_library.hpp"
#include "models/libraries/matrix_rings.hpp"
#include "models/libraries/members.hpp"
#include "models/libraries/node_rings.hpp"
#include "models/libraries/pair_rings.hpp"
#include "models/libraries/pair_transports.hpp"
#include "models/libraries/ring_operation.hpp"

namespace linkcast {
namespace {

// source of all in this block: models/libraries/SOURCES.md (NCCL 2.3.7)
constexpr int kMatrixThreads = 256;
constexpr int kThreadsPascalNvlink = 128;
constexpr double kBytesPerThreadPascal = 32;  // and older
constexpr double kBytesPerThreadVolta = 64;   // and newer
constexpr double kLLBetweenNodes = 2;
constexpr double kPayloadShareLL = 8.0 / 16;  // lines of 8 bytes of data and 8 bytes of flags

const EarlyLatency& latencies(const std::string& protocol) {
  if (protocol == "LL") return kEarlyLL;
  if (protocol == "Simple") return kEarlySimple;
  throw InputError("protocol '" + protocol + "': nccl-2.3 has LL, Simple");
}

/// Threads of a block. @limits  "Pascal with NVLink" is read as: Pascal, and the rings run over NVLink
int threads_of(const Platform& platform, const Communicator& communicator) {
  const bool narrow = is_pascal(oldest_generation(platform, communicator.gpus)) && communicator.path_class == "NVL";
  return narrow ? kThreadsPascalNvlink : kMatrixThreads;
}

/// The matrix era, as NCCL 2.3.7, the first open version of it.
/// @source  models/libraries/SOURCES.md (facts about NVIDIA/nccl tag v2.3.7, no code of it)
/// @limits  rings only, also between nodes, where 2.4 has trees for small sizes. Several domains (pairs of GPUs that
/// nothing but host memory joins) become one ring.
class NcclMatrix final : public EarlyLibrary {
 public:
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
      made.channels.push_back(pair_channel(pairs, gpus, ring, plan.links_per_ring));
      made.link_equivalents += plan.links_per_ring;
      if (spare-- > 0) made.channels.back().blocks = 2;
    }
    made.path_class = to_text(worst_class(pairs, plan.rings));
    made.fallback = plan.fallback;
    made.why = std::move(plan.why);
    return made;
  }

  [[nodiscard]] bool spans_nodes() const override { return true; }

  /// A ring for each NIC next to a member, of one GPU a node for each NIC of it, run by two blocks like those of a
  /// node.
  [[nodiscard]] Communicator build_across(const Cluster& cluster, const std::vector<int>& gpus, int nodes,
                                          bool /*pxn*/) const override {
    check_nodes(cluster, gpus, nodes);
    Communicator made;
    if (gpus.size() == 1) {
      made.library = "nccl-2.3";
      made.gpus = gpus;
      made.path_class = "LOC";
      for (int nic = 0; nic < cluster.nics(); ++nic)
        if (cluster.reaches(cluster.node().gpu(gpus.front()), nic))
          made.channels.push_back({gpus, {}, 0, 2, nic_way(cluster, nic), nic_way(cluster, nic)});
    } else {
      made = build(cluster.node(), gpus);
      made.channels = headed_rings(cluster, made.channels, nic_heads(cluster, gpus));
    }
    made.nodes = nodes;
    made.why = fmt::format("{} rings over {} nodes; inside a node: {}", made.channels.size(), nodes,
                           gpus.size() == 1 ? "one GPU" : made.why);
    return made;
  }

  /// LL while size <= ranks x rings x threads x bytes a thread, where a ring run by two blocks counts twice. The
  /// library lets blocks and threads grow with the size before that, at 8 bytes a thread and rank; both are at their
  /// limits long before the size is, so the limit alone decides.
  [[nodiscard]] ProtocolChoice protocol(const Platform& platform, const Communicator& communicator,
                                        const std::string& operation, Bytes size,
                                        const std::string& forced) const override {
    static_cast<void>(ring_operation(communicator.library, operation));  // throws on one that NCCL lacks
    static_cast<void>(latencies(forced.empty() ? "LL" : forced));        // throws on a protocol this era lacks
    const int sm = oldest_generation(platform, communicator.gpus);
    double blocks = 0;
    for (const Channel& ring : communicator.channels) blocks += ring.blocks;
    const double threads = blocks * threads_of(platform, communicator);
    const double per_thread = sm >= kVolta ? kBytesPerThreadVolta : kBytesPerThreadPascal;
    const double ranks = communicator.ranks();
    const bool small = size.si <= ranks * threads * per_thread * (communicator.nodes > 1 ? kLLBetweenNodes : 1);
    const std::string chosen = !forced.empty() ? forced : small ? "LL" : "Simple";
    return {chosen, chosen == "LL" ? kPayloadShareLL : 1};
  }

  /// Of version 2.5, the oldest there is: 2.3 has no cost model.
  [[nodiscard]] Seconds base_latency(const std::string& protocol) const override { return latencies(protocol).base(); }

  /// Of version 2.5, the oldest there is: 2.3 has no cost model.
  [[nodiscard]] Seconds hop_latency(const std::string& protocol, const std::string& path_class) const override {
    return latencies(protocol).hop(path_class);
  }

  [[nodiscard]] std::optional<Prior> block_rate(const Platform& platform, const Communicator& communicator,
                                                const std::string& protocol) const override {
    const Prior& thread = protocol == "LL" ? kEarlyThreadLL_Bps : kEarlyThread_Bps;
    return Prior{threads_of(platform, communicator) * thread.value, thread.spread};
  }
};

const bool nccl_matrix_registered =
    libraries().add({"nccl-2.3", "NCCL 2.0-2.4: rings packed into a matrix of links",
                     "models/libraries/SOURCES.md (facts about NVIDIA/nccl tag v2.3.7)"},
                    [] { return std::make_unique<NcclMatrix>(); });

}  // namespace
}  // namespace linkcast
