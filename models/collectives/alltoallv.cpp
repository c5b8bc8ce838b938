// Every rank sends each other rank a part of its own size.
#include "sim/machine/collective.hpp"

namespace {

using linkcast::Bytes;
using linkcast::Collective;
using linkcast::PairMessage;
using linkcast::PartSizes;

class AllToAllV final : public linkcast::PairCollective {
 public:
  explicit AllToAllV(std::vector<double> parts_B = {})
      : PairCollective({.parts = PartSizes::kOfPairs}, std::move(parts_B)) {}
  [[nodiscard]] std::unique_ptr<Collective> with_parts(std::vector<double> parts_B) const override {
    return std::make_unique<AllToAllV>(std::move(parts_B));
  }
  [[nodiscard]] std::string equal_parts() const override { return "alltoall"; }
  [[nodiscard]] bool every_pair() const override { return parts_B().empty(); }
  /// Parts of no bytes are neither sent nor received.
  [[nodiscard]] std::vector<PairMessage> messages(Bytes size, int ranks) const override {
    std::vector<PairMessage> all;
    for (int step = 1; step < ranks; ++step) {
      for (int rank = 0; rank < ranks; ++rank) {
        const int to = (rank + step) % ranks;
        const double part =
            parts_B().empty() ? size.si / ranks : parts_B()[static_cast<std::size_t>(rank * ranks + to)];
        if (part > 0) all.push_back({rank, to, {part}});
      }
    }
    return all;
  }
};

const bool alltoallv_registered = linkcast::collectives().add(
    {"alltoallv", "a part of its own size from each rank to each other",
     "PyTorch, torch/csrc/cuda/nccl.cpp, all2all_single_unequal_split(): sends and receives of what is not empty"},
    [] { return std::make_unique<AllToAllV>(); });

}  // namespace
