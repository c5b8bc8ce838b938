#include "models/algorithms/peer_memory.hpp"

namespace linkcast {
namespace {

// source: assumed, as two_shot's: the same barriers
constexpr PeerRows kMultimem("multimem", {5.5e-6, 0.35});  // source: as above

/// Each GPU loads the sum of one part from the NVSwitch and stores it to all by it: S + S / n on each link.
/// @source  pytorch/pytorch CUDASymmetricMemoryOps.cu, multimem_all_reduce_ (models/libraries/SOURCES.md)
class Multimem final : public PeerMemory {
 public:
  Multimem() : PeerMemory({{"multicast", &kMultimem, false, 2, 2}}) {}
  [[nodiscard]] Needs needs(int /*nodes*/) const override { return {.multicast = true}; }

 private:
  void move(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
            collective::CollectivePlan& plan) const override {
    plan.busiest_B = job.size_B / job.ranks();
    for (const int head : job.communicator.gpus) {
      const activities::MulticastPart part{plan.busiest_B, true, true, plan.cost.link_share};
      problem.add_in_node(0, activities::multicast_activity(problem.in_node(), job.communicator.gpus, head, part));
      plan.hops.emplace_back();
    }
  }
};

const bool multimem_registered =
    algorithms().add({"multimem", "NVSwitches add up and multicast torch's symmetric memory",
                      "models/libraries/SOURCES.md, Inference engines"},
                     [] { return std::make_unique<Multimem>(); });

}  // namespace
}  // namespace linkcast
