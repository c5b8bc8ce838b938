#include "models/algorithms/peer_memory.hpp"

namespace linkcast {
namespace {

// Barriers before and between both halves, of which the second also orders memory; one that stages its input in shared
// memory copies it in and its result out. source: assumed, after one_shot's (models/algorithms/one_shot.cpp): an
// exchange more, a microsecond or two
constexpr PeerRows kTwoShotPull("two_shot.pull", {5.5e-6, 0.35}), kTwoShotPush("two_shot.push", {5.5e-6, 0.35}),
    kTwoShotStaged("two_shot.staged", {8e-6, 0.5});  // source: as above
// source: 7.4 us for 1 to 4 KiB on two H100, of two hosts (calibrate/data/h100-four/20261127a-symmetric_memory.json)
constexpr PeerRows kTwoShotSymmetric("two_shot.symmetric", {7.4e-6, 0.1});

/// Each GPU adds up one part of all buffers, then all get the sums: 2 (n - 1) / n S on each link, two exchanges.
/// @source  vllm-project/vllm csrc/custom_all_reduce.cuh, sgl-project/sglang custom_all_reduce_v2.py,
///          NVIDIA/TensorRT-LLM allReduceFusionKernels.cu, pytorch/pytorch CUDASymmetricMemoryOps.cu
///          (models/libraries/SOURCES.md)
class TwoShot final : public PeerMemory {
 public:
  TwoShot()
      : PeerMemory({{"pull", &kTwoShotPull, true, 0, 1},
                    {"push", &kTwoShotPush, false, 0, 2},
                    {"staged", &kTwoShotStaged},
                    {"symmetric", &kTwoShotSymmetric, false, 2, 2}}) {}

 private:
  void move(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
            collective::CollectivePlan& plan) const override {
    plan.steps = 2;
    exchange_with_all(job, 2 * job.size_B / job.ranks(), problem, plan);
  }
};

const bool two_shot_registered =
    algorithms().add({"two_shot", "every GPU adds up one part of all buffers, then all get the sums from their peers",
                      "models/libraries/SOURCES.md, Inference engines"},
                     [] { return std::make_unique<TwoShot>(); });

}  // namespace
}  // namespace linkcast
