#include <algorithm>

#include "models/algorithms/peer_memory.hpp"
#include "sim/base/index.hpp"

namespace linkcast {
namespace {

// A kernel with a barrier at its start and one at its end, and one whose data are their own flags. source:
// linkcast-bench's kernels in a queue that load from a peer or store there on H200 (models/params/hgx-h200.json: 2.4
// and 3.9 us for the smallest sizes), a store and a spin of half a microsecond for the second barrier
constexpr PeerRows kOneShotPull("one_shot.pull", {4.5e-6, 0.3}),
    kOneShotPush("one_shot.push", {2.4e-6, 0.3});  // source: as above

/// Part of a level 2 cache in two halves that holds data of both, bytes. source: NVIDIA A100, H100 and Blackwell
/// architecture whitepapers: 40, 50 and 126 MB
double half_cache_B(int sm) {
  constexpr int kHopperSm = 90, kBlackwellSm = 100;
  constexpr double kAmpere_B = 20e6, kHopper_B = 25e6, kBlackwell_B = 63e6;
  return sm >= kBlackwellSm ? kBlackwell_B : sm >= kHopperSm ? kHopper_B : kAmpere_B;
}

/// Each GPU gets the whole buffer of each other, and adds them up: (n - 1) S on each link, one exchange.
/// @source  vllm-project/vllm csrc/custom_all_reduce.cuh, sgl-project/sglang custom_all_reduce_v2.py,
///          NVIDIA/TensorRT-LLM allReduceFusionKernels.cu (models/libraries/SOURCES.md)
class OneShot final : public PeerMemory {
 public:
  OneShot() : PeerMemory({{"pull", &kOneShotPull, true, 0, 1}, {"push", &kOneShotPush}}) {}

  /// With the one of all loads, which joins the table once.
  [[nodiscard]] std::vector<const ParameterRow*> parameters() const override {
    std::vector<const ParameterRow*> rows = PeerMemory::parameters();
    rows.push_back(&peer_load());
    return rows;
  }

 private:
  void move(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
            collective::CollectivePlan& plan) const override {
    exchange_with_all(job, job.size_B, problem, plan);
  }
  /// Each call fills one of three buffers for the parts of all GPUs, reads it and clears the one before.
  [[nodiscard]] double spilled_s(const collective::CollectiveJob& job, const PeerKernel& kernel) const override {
    if (kernel.loads) return 0;
    const Device& gpu = job.node().topology().devices[at(job.node().gpu(job.communicator.gpus.front()))];
    const double beyond_B = 3 * job.ranks() * job.size_B - half_cache_B(gpu.sm);
    return std::max(0.0, beyond_B) / (2 * local_copy_Bps(job.node()));
  }
};

const bool one_shot_registered =
    algorithms().add({"one_shot", "every GPU gets all buffers of its peers and adds them up",
                      "models/libraries/SOURCES.md, Inference engines"},
                     [] { return std::make_unique<OneShot>(); });

}  // namespace
}  // namespace linkcast
