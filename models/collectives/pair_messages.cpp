// Operations that a library makes of sends and receives, all in one group.
#include "sim/machine/collective.hpp"

namespace {

using linkcast::Bytes;
using linkcast::PairCollective;
using linkcast::PairMessage;

class AllToAll final : public PairCollective {
 public:
  AllToAll() : PairCollective({}) {}
  [[nodiscard]] bool every_pair() const override { return true; }
  [[nodiscard]] std::vector<PairMessage> messages(Bytes size, int ranks) const override {
    std::vector<PairMessage> all;
    for (int step = 1; step < ranks; ++step)
      for (int rank = 0; rank < ranks; ++rank) all.push_back({rank, (rank + step) % ranks, {size.si / ranks}});
    return all;
  }
};

class SendRecv final : public PairCollective {
 public:
  SendRecv() : PairCollective({}) {}
  [[nodiscard]] std::vector<PairMessage> messages(Bytes size, int ranks) const override {
    std::vector<PairMessage> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back({rank, (rank + 1) % ranks, size});
    return all;
  }
  [[nodiscard]] bool own_part() const override { return false; }
  [[nodiscard]] double bus_factor(int /*ranks*/) const override { return 1; }
};

/// Rank 0 is the root.
class Gather final : public PairCollective {
 public:
  Gather() : PairCollective({.gathers = true, .root = true}) {}
  [[nodiscard]] std::vector<PairMessage> messages(Bytes size, int ranks) const override {
    std::vector<PairMessage> all;
    for (int rank = 1; rank < ranks; ++rank) all.push_back({rank, 0, {size.si / ranks}});
    return all;
  }
};

class Scatter final : public PairCollective {
 public:
  Scatter() : PairCollective({.root = true}) {}
  [[nodiscard]] std::vector<PairMessage> messages(Bytes size, int ranks) const override {
    std::vector<PairMessage> all;
    for (int rank = 1; rank < ranks; ++rank) all.push_back({0, rank, {size.si / ranks}});
    return all;
  }
};

const std::string kSource = "NVIDIA/nccl-tests doc/PERFORMANCE.md and the operations' definitions there";

const bool pair_messages_registered =
    linkcast::collectives().add({"alltoall", "size/n bytes from each rank to each other", kSource},
                                [] { return std::make_unique<AllToAll>(); }) &&
    linkcast::collectives().add({"sendrecv", "size bytes from each rank to the next", kSource},
                                [] { return std::make_unique<SendRecv>(); }) &&
    linkcast::collectives().add({"gather", "size/n bytes from each rank to the root", kSource},
                                [] { return std::make_unique<Gather>(); }) &&
    linkcast::collectives().add({"scatter", "size/n bytes from the root to each rank", kSource},
                                [] { return std::make_unique<Scatter>(); });

}  // namespace
