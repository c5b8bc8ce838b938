#include "models/algorithms/peer_memory.hpp"

namespace linkcast {
namespace {

// Kernel and two exchanges of all pairs. source: RCCL's own figures (models/libraries/SOURCES.md), base and two steps:
// 12 + 2 x 0.8 us in LL, 17 + 2 x 2.1 us in Simple
constexpr PeerRows kLL("all_pairs.LL", {13.6e-6, 0.4}), kSimple("all_pairs.Simple", {21.2e-6, 0.4});  // source: above

/// Each GPU adds up one part of all buffers, then all get the sums, as two_shot, by blocks of RCCL's protocols.
/// @source  models/libraries/SOURCES.md, RCCL: all-pairs algorithms of MSCCL
class AllPairs final : public PeerMemory {
 public:
  AllPairs() : PeerMemory({{"LL", &kLL}, {"Simple", &kSimple}}) {}

 private:
  void move(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
            collective::CollectivePlan& plan) const override {
    plan.steps = 2;
    plan.cost.link_share *= plan.choice.payload_share;
    exchange_with_all(job, 2 * job.size_B / job.ranks(), problem, plan);
  }
};

const bool all_pairs_registered =
    algorithms().add({"all_pairs", "as two_shot, by RCCL's kernels: each GPU adds up one part, then all get the sums",
                      "models/libraries/SOURCES.md, RCCL"},
                     [] { return std::make_unique<AllPairs>(); });

}  // namespace
}  // namespace linkcast
