// Every rank's part, each of its own size, goes to all. size: the gathered buffer.
#include <algorithm>
#include <numeric>

#include "sim/machine/collective.hpp"

namespace {

using linkcast::Bytes;
using linkcast::Collective;
using linkcast::CollectiveTraits;
using linkcast::PartSizes;
using linkcast::Shape;

/// NCCL has no such operation: PyTorch runs a broadcast from each rank, all in one group, so that each part goes down
/// the ring from its rank. Together they are what an all_gather moves; the hop into the rank of the smallest part
/// carries most.
/// @limits  the library is asked for one broadcast of all bytes (NCCL adds up calls of a group that are alike)
class AllGatherV final : public Collective {
 public:
  explicit AllGatherV(std::vector<double> parts_B = {}) : Collective(std::move(parts_B)) {}
  [[nodiscard]] Shape shape() const override { return Shape::kRing; }
  [[nodiscard]] CollectiveTraits traits() const override { return {.gathers = true, .parts = PartSizes::kOfRanks}; }
  [[nodiscard]] std::unique_ptr<Collective> with_parts(std::vector<double> parts_B) const override {
    return std::make_unique<AllGatherV>(std::move(parts_B));
  }
  [[nodiscard]] std::string equal_parts() const override { return "all_gather"; }
  [[nodiscard]] std::string grouped_call() const override { return "broadcast"; }
  [[nodiscard]] Bytes bytes_per_hop(Bytes size, int ranks) const override {
    if (parts_B().empty()) return linkcast::ring_share(1, ranks) * size;
    const double all = std::accumulate(parts_B().begin(), parts_B().end(), 0.0);
    return {all - *std::min_element(parts_B().begin(), parts_B().end())};
  }
  [[nodiscard]] int steps(int ranks) const override { return linkcast::ring_steps(1, ranks); }
  [[nodiscard]] double bus_factor(int ranks) const override { return linkcast::ring_share(1, ranks); }
};

const bool allgatherv_registered = linkcast::collectives().add(
    {"allgatherv", "a part of its own size from each rank to all: NCCL runs a broadcast from each, in one group",
     "PyTorch, torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, allgather() of outputs that differ in size"},
    [] { return std::make_unique<AllGatherV>(); });

}  // namespace
