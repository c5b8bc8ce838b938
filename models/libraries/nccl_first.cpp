// NCCL 1.x: one ring over the GPUs of one node as they are given, one thread block, Simple.
#include <algorithm>
#include <utility>

#include "models/libraries/early_library.hpp"
#include "models/libraries/generations.hpp"
#include "models/libraries/ring_operation.hpp"
#include "models/libraries/ring_search.hpp"

namespace linkcast {
namespace {

const std::string kOnlyProtocol = "Simple";

// source: assumed: both ways through host memory flow at once, a third of the quicker one is waited for
constexpr Prior kFirstHostWait{0.33, 1.0};

// source: NVIDIA/nccl 1.3: DEFAULT_BUFFER_SIZE_BYTES in src/core.cu
constexpr double kFirstBuffer_B = 2097152;

void check_protocol(const std::string& protocol) {
  if (!protocol.empty() && protocol != kOnlyProtocol)
    throw InputError("protocol '" + protocol + "': nccl-1 has Simple alone");
}

/// @source  models/libraries/SOURCES.md (NCCL 1.x)
/// @limits  one node
class NcclFirst final : public EarlyLibrary {
 public:
  [[nodiscard]] Communicator build(const Platform& platform, const std::vector<int>& gpus) const override {
    check_members(platform, gpus);
    const PairTable pairs(platform, gpus);
    std::vector<int> ring;
    for (int member = 0; member < pairs.members(); ++member) ring.push_back(member);
    const PathClass worst = worst_class(pairs, {ring});
    const double links = worst == PathClass::kNvl ? 1 : 0;
    Communicator made;
    made.library = "nccl-1";
    made.gpus = gpus;
    made.channels.push_back(pair_channel(pairs, gpus, ring, links));
    made.link_equivalents = links;
    made.path_class = to_text(worst);
    const auto& hops = made.channels.front().hops;
    made.fallback =
        std::any_of(hops.begin(), hops.end(), [](const Hop& hop) { return hop.kind == HopKind::kHostMemory; });
    made.why = "one ring in rank order, " + host_hops(pairs, ring, gpus);
    return made;
  }

  [[nodiscard]] bool keeps_rank_order() const override { return true; }

  [[nodiscard]] ProtocolChoice protocol(const Platform& /*platform*/, const Communicator& communicator,
                                        const std::string& operation, Bytes /*size*/,
                                        const std::string& forced) const override {
    static_cast<void>(ring_operation(communicator.library, operation));  // throws on one that NCCL lacks
    check_protocol(forced);
    return {kOnlyProtocol, 1};
  }

  [[nodiscard]] Seconds base_latency(const std::string& protocol) const override {
    check_protocol(protocol);
    return kEarlySimple.base();
  }

  [[nodiscard]] Seconds hop_latency(const std::string& protocol, const std::string& path_class) const override {
    check_protocol(protocol);
    return kEarlySimple.hop(path_class);
  }

  [[nodiscard]] std::optional<Prior> block_rate(const Platform& /*platform*/, const Communicator& /*communicator*/,
                                                const std::string& /*protocol*/) const override {
    return kFirstBlock_Bps;
  }
  [[nodiscard]] std::optional<Prior> host_wait() const override { return kFirstHostWait; }
  [[nodiscard]] double simple_buffer_B() const override { return kFirstBuffer_B; }
  [[nodiscard]] bool groups_calls() const override { return false; }
};

const bool nccl_first_registered =
    libraries().add({"nccl-1", "NCCL 1.x on one node: one ring in rank order",
                     "models/libraries/SOURCES.md (NVIDIA/nccl 1.3, N. Luehr, GTC 2016 and its README)"},
                    [] { return std::make_unique<NcclFirst>(); });

}  // namespace
}  // namespace linkcast
