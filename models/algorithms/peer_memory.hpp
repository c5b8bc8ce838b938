#pragma once
// All_reduce by kernels that load from the memory of peers or store there, as inference engines have: no rings, every
// pair of GPUs exchanges its parts at once.
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/forecast/collective_plan.hpp"

namespace linkcast {

/// Parameters of one kernel, for each engine: "custom.one_shot.pull@vllm.base_s".
struct PeerRows {
  LibraryRow base, rank, link_share, crowding;
  /// @param base_of  before data of this machine
  constexpr PeerRows(std::string_view subject, const Prior& base_of)
      : base(one(subject, {.what = "base_s",
                           .unit = "s",
                           .meaning = "engines: kernel and barriers of an all_reduce of two GPUs before the bytes",
                           .prior = base_of})),
        // Push on H200: 0.1 us, pull 0.05 us; barriers of a GPU go to all others at once. source: assumed
        rank(one(subject, {.what = "rank_s",
                           .unit = "s",
                           .meaning = "engines: what each GPU beyond two adds to it",
                           .prior = Prior{0.1e-6, 1}})),  // source: as above
        // Payload over what kernels get of these links alone. source: assumed, loads and stores mix with flags
        link_share(one(subject, {.what = "link_share",
                                 .unit = "1",
                                 .meaning = "engines: share of the links' rate that two GPUs attain",
                                 .prior = Prior{0.88, 0.1}})),  // source: as above
        // Loss of all-to-all traffic. source: assumed; alltoall of NCCL in a node of 8 is 0.15 slower
        crowding(one(subject, {.what = "crowding",
                               .unit = "1",
                               .meaning = "engines: what each GPU beyond two slows all down by",
                               .prior = Prior{0.02, 1}})) {}  // source: as above
  [[nodiscard]] std::vector<const ParameterRow*> all() const { return {&base, &rank, &link_share, &crowding}; }

 private:
  static constexpr LibraryRow one(std::string_view subject, ParameterRow row) {
    row.subject = subject;
    return LibraryRow(row);
  }
};

/// One kernel, by the protocol of its algorithm.
struct PeerKernel {
  std::string_view protocol;
  const PeerRows* rows;
  bool loads = false;    ///< else it stores
  int copies = 0;        ///< of the buffer inside a GPU, before and after the kernel
  int eager_copies = 0;  ///< the same where no CUDA graph has registered the buffer
};

class PeerMemory : public Algorithm {
 public:
  explicit PeerMemory(std::vector<PeerKernel> kernels) : kernels_(std::move(kernels)) {}
  [[nodiscard]] Routes routes() const final { return Routes::kChannels; }
  [[nodiscard]] std::string refusal(int nodes, bool collnet) const final;
  [[nodiscard]] collective::CollectiveCost cost(const collective::CostRequest& request) const final;
  void plan(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
            collective::CollectivePlan& plan) const final;
  /// All members, who exchange with each other.
  [[nodiscard]] std::vector<std::vector<int>> orders(const Communicator& communicator) const final;
  [[nodiscard]] std::vector<const ParameterRow*> parameters() const override;

 protected:
  /// Adds the flows of all GPUs.
  virtual void move(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
                    collective::CollectivePlan& plan) const = 0;
  /// Seconds that the kernel takes longer since its buffers leave the GPU's cache.
  [[nodiscard]] virtual double spilled_s(const collective::CollectiveJob& /*job*/, const PeerKernel& /*kernel*/) const {
    return 0;
  }

 private:
  [[nodiscard]] const PeerKernel& kernel(const std::string& protocol) const;
  std::vector<PeerKernel> kernels_;
};

/// Every GPU exchanges so many bytes with each other.
void exchange_with_all(const collective::CollectiveJob& job, double bytes, activities::ClusterProblem& problem,
                       collective::CollectivePlan& plan);

/// Row of what a load from a peer takes, which all kernels that load share.
const ParameterRow& peer_load();

/// Bytes/s that a copy inside a GPU moves; it reads and writes them.
double local_copy_Bps(const Platform& node);

}  // namespace linkcast
