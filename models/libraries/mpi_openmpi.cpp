// Open MPI: algorithm by operation, ranks and bytes, and what goes through host memory. 4.1.4 unless the machine runs
// an older one.
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sim/machine/library.hpp"

namespace linkcast {
namespace {

// Open MPI 2 to 4.0: algorithm by operation, ranks and bytes, before its tables of 4.1.

// source of what follows: Open MPI 4.0, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, from memory. All-reduce of
// 4.0.5 on ABCI bears it out: on 16 ranks no ring below 64 bytes, a step of 24 us between 8 and 16 KiB
constexpr double kOldAllReduce_B = 10000;
constexpr double kOldAllGather_B = 50000;
constexpr double kOldAlltoallSmall_B = 200, kOldAlltoallMedium_B = 3000;
constexpr int kOldAlltoallFew = 12;
constexpr double kOldGatherLarge_B = 6000, kOldGatherSmall_B = 1024, kOldScatter_B = 300;
constexpr int kOldFew = 10, kOldMany = 60;

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

/// Ring stands for segmented ring and neighbour exchange, linear for linear with synchronisation.
using OldRule = const char* (*)(double size_B, int ranks);
/// By operation; for others those of 4.1 stand in.
const std::map<std::string, OldRule> kOldRules = {
    {"all_reduce",
     [](double size_B, int /*ranks*/) { return size_B < kOldAllReduce_B ? "recursive_doubling" : "ring"; }},
    {"all_gather",
     [](double size_B, int ranks) {
       if (ranks == 2 || (size_B < kOldAllGather_B && is_power_of_two(ranks))) return "recursive_doubling";
       return size_B < kOldAllGather_B ? "bruck" : "ring";
     }},
    {"alltoall",
     [](double size_B, int ranks) {
       const double block_B = size_B / ranks;
       if (block_B < kOldAlltoallSmall_B && ranks > kOldAlltoallFew) return "bruck";
       return block_B < kOldAlltoallMedium_B ? "linear" : "pairwise";
     }},
    {"gather",
     [](double size_B, int ranks) {
       const double block_B = size_B / ranks;
       if (block_B > kOldGatherLarge_B) return "linear";
       return ranks > kOldMany || (ranks > kOldFew && block_B < kOldGatherSmall_B) ? "binomial" : "linear";
     }},
    {"scatter", [](double size_B, int ranks) {
       return ranks > kOldFew && size_B / ranks < kOldScatter_B ? "binomial" : "linear";
     }}};

constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr int kMost = std::numeric_limits<int>::max();

struct SizeRow {
  double below_B;
  const char* algorithm;
};
struct RanksRow {
  int below;  ///< ranks
  std::vector<SizeRow> sizes;
};

/// source: Open MPI 4.1.4, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c (commutative operations). What is not
/// modelled has a stand-in of the same shape: ring for segmented ring and neighbour exchange; binomial for chain,
/// pipeline, binary and k-nomial trees; recursive halving for butterfly; reduce and scatter or broadcast, both
/// binomial, for "basic_linear" of reduce_scatter_block and "nonoverlapping" of allreduce; linear for "linear_sync"
/// and for gathering, then broadcasting, a few bytes ("default" of allgatherv).
const std::map<std::string, std::vector<RanksRow>> kRules = {
    {"all_reduce",
     {{4,
       {{8, "ring"},
        {4096, "recursive_doubling"},
        {8192, "ring"},
        {16384, "recursive_doubling"},
        {262144, "ring"},
        {kAny, "rabenseifner"}}},
      {8, {{16, "ring"}, {8192, "recursive_doubling"}, {kAny, "rabenseifner"}}},
      {16, {{8192, "recursive_doubling"}, {kAny, "rabenseifner"}}},
      {32, {{64, "ring"}, {4096, "recursive_doubling"}, {kAny, "rabenseifner"}}},
      {64, {{128, "ring"}, {kAny, "rabenseifner"}}},
      {128, {{262144, "recursive_doubling"}, {kAny, "rabenseifner"}}},
      {256, {{131072, "binomial"}, {262144, "recursive_doubling"}, {kAny, "rabenseifner"}}},
      {512, {{4096, "binomial"}, {kAny, "rabenseifner"}}},
      {2048, {{2048, "binomial"}, {16384, "recursive_doubling"}, {kAny, "rabenseifner"}}},
      {4096, {{2048, "binomial"}, {4096, "ring"}, {16384, "recursive_doubling"}, {kAny, "rabenseifner"}}},
      {kMost, {{2048, "binomial"}, {16384, "ring"}, {32768, "recursive_doubling"}, {kAny, "rabenseifner"}}}}},
    {"all_gather",
     {{32, {{kAny, "recursive_doubling"}}},
      {64, {{1024, "recursive_doubling"}, {kAny, "ring"}}},
      {256, {{512, "recursive_doubling"}, {kAny, "ring"}}},
      {512, {{32, "recursive_doubling"}, {128, "bruck"}, {1024, "recursive_doubling"}, {kAny, "ring"}}},
      {1024, {{64, "recursive_doubling"}, {256, "bruck"}, {2048, "recursive_doubling"}, {kAny, "ring"}}},
      {2048,
       {{4, "recursive_doubling"},
        {8, "bruck"},
        {16, "recursive_doubling"},
        {32, "bruck"},
        {256, "recursive_doubling"},
        {512, "bruck"},
        {4096, "recursive_doubling"},
        {kAny, "ring"}}},
      {4096,
       {{32, "bruck"}, {128, "recursive_doubling"}, {512, "bruck"}, {4096, "recursive_doubling"}, {kAny, "ring"}}},
      {kMost,
       {{2, "recursive_doubling"},
        {8, "bruck"},
        {16, "recursive_doubling"},
        {512, "bruck"},
        {4096, "recursive_doubling"},
        {kAny, "ring"}}}}},
    {"alltoall",
     {{3, {{32768, "pairwise"}, {262144, "linear"}, {kAny, "pairwise"}}},
      {8, {{524288, "linear"}, {1048576, "pairwise"}, {kAny, "linear"}}},
      {16, {{kAny, "linear"}}},
      {32, {{4, "linear"}, {512, "bruck"}, {kAny, "linear"}}},
      {64, {{512, "bruck"}, {kAny, "linear"}}},
      {256, {{1024, "bruck"}, {262144, "linear"}, {kAny, "pairwise"}}},
      {512, {{1024, "bruck"}, {32768, "linear"}, {kAny, "pairwise"}}},
      {1024, {{512, "bruck"}, {262144, "linear"}, {kAny, "pairwise"}}},
      {2048, {{512, "bruck"}, {kAny, "linear"}}},
      {4096, {{1024, "bruck"}, {kAny, "linear"}}},
      {kMost, {{2048, "bruck"}, {kAny, "linear"}}}}},
    {"allgatherv",
     {{3, {{kAny, "ring"}}},
      {8, {{256, "linear"}, {16384, "ring"}, {262144, "bruck"}, {kAny, "ring"}}},
      {16, {{1024, "linear"}, {kAny, "bruck"}}},
      {32, {{128, "linear"}, {262144, "bruck"}, {kAny, "ring"}}},
      {64, {{256, "linear"}, {8192, "bruck"}, {kAny, "ring"}}},
      {128, {{256, "linear"}, {4096, "bruck"}, {kAny, "ring"}}},
      {512, {{1024, "bruck"}, {kAny, "ring"}}},
      {1024, {{512, "bruck"}, {1024, "linear"}, {4096, "bruck"}, {kAny, "ring"}}},
      {kMost, {{4096, "bruck"}, {kAny, "ring"}}}}},
    {"alltoallv",
     {{4, {{kAny, "pairwise"}}},
      {64, {{kAny, "linear"}}},
      {128, {{kAny, "pairwise"}}},
      {256, {{kAny, "linear"}}},
      {1024, {{kAny, "pairwise"}}},
      {kMost, {{kAny, "linear"}}}}},
    {"broadcast",
     {{4, {{1024, "binomial"}, {32768, "linear"}, {262144, "binomial"}, {524288, "linear"}, {kAny, "binomial"}}},
      {8, {{8192, "binomial"}, {1048576, "linear"}, {kAny, "binomial"}}},
      {16, {{32768, "binomial"}, {kAny, "linear"}}},
      {32, {{1048576, "binomial"}, {kAny, "scatter_all_gather"}}},
      {128, {{kAny, "binomial"}}},
      {256, {{16384, "binomial"}, {32768, "linear"}, {kAny, "binomial"}}},
      {1024, {{kAny, "binomial"}}},
      {2048, {{524288, "binomial"}, {kAny, "scatter_all_gather"}}},
      {kMost, {{262144, "binomial"}, {kAny, "scatter_all_gather"}}}}},
    {"gather",
     {{4, {{4, "linear"}, {32768, "binomial"}, {65536, "linear"}, {131072, "binomial"}, {kAny, "linear"}}},
      {8, {{1024, "binomial"}, {8192, "linear"}, {32768, "binomial"}, {kAny, "linear"}}},
      {256, {{kAny, "binomial"}}},
      {512, {{2048, "binomial"}, {8192, "linear"}, {kAny, "binomial"}}},
      {kMost, {{kAny, "binomial"}}}}},
    {"scatter",
     {{4, {{kAny, "linear"}}},
      {8, {{2048, "binomial"}, {4096, "linear"}, {8192, "binomial"}, {kAny, "linear"}}},
      {32, {{16384, "binomial"}, {kAny, "linear"}}},
      {64, {{512, "binomial"}, {8192, "linear"}, {16384, "binomial"}, {kAny, "linear"}}},
      {kMost, {{512, "binomial"}, {kAny, "linear"}}}}},
    {"reduce",
     {{4, {{8, "rabenseifner"}, {32, "binomial"}, {262144, "linear"}, {kAny, "binomial"}}},
      {8, {{262144, "binomial"}, {524288, "linear"}, {1048576, "binomial"}, {kAny, "linear"}}},
      {kMost, {{kAny, "binomial"}}}}},
    {"reduce_scatter",
     {{4, {{131072, "recursive_halving"}, {kAny, "binomial"}}},
      {8, {{1048576, "recursive_halving"}, {kAny, "binomial"}}},
      {16, {{4, "binomial"}, {524288, "recursive_halving"}, {4194304, "binomial"}, {kAny, "recursive_halving"}}},
      {32, {{32, "binomial"}, {524288, "recursive_halving"}, {2097152, "binomial"}, {kAny, "recursive_halving"}}},
      {kMost,
       {{4, "recursive_halving"},
        {16, "binomial"},
        {65536, "recursive_halving"},
        {262144, "binomial"},
        {kAny, "recursive_halving"}}}}},
};

/// Bytes that the rules compare: those of one rank's part where every rank has its own, else the whole buffer.
double compared_B(const ScheduleRequest& request) {
  const Collective& op = collectives().get(request.operation);
  const bool whole = op.shape() == Shape::kChain || (op.traits().reduces && op.traits().gathers);
  return whole ? request.size.si : request.size.si / request.ranks;
}

/// source: Open MPI 4.1.4, ompi/mca/coll/base/coll_base_allgather.c: powers of two, else Bruck's
std::string possible(const ScheduleRequest& request, const std::string& algorithm) {
  const bool power_of_two = (request.ranks & (request.ranks - 1)) == 0;
  return request.operation == "all_gather" && algorithm == "recursive_doubling" && !power_of_two ? "bruck" : algorithm;
}

constexpr double kNew = 4.1;  // source: Open MPI 4.1.0, NEWS: new defaults of coll/tuned
constexpr double kOld = 4.0;  // source: the one before it

class OpenMpi final : public Library, public ScheduleLibrary {
 public:
  /// @param version  that the library is made from, unless a machine's calibration names its own
  /// @param messages_of  ScheduleLibrary::messages_of()
  OpenMpi(Staging reductions, Staging others, bool public_choice, double version, std::string messages_of = "")
      : reductions_(reductions),
        others_(others),
        public_choice_(public_choice),
        version_(version),
        messages_of_(std::move(messages_of)) {}

  [[nodiscard]] const ScheduleLibrary* schedules() const override { return this; }
  [[nodiscard]] bool public_choice() const override { return public_choice_; }
  [[nodiscard]] std::string messages_of() const override { return messages_of_; }

  [[nodiscard]] std::string algorithm(const ScheduleRequest& request) const override {
    if (request.operation == "sendrecv") return "linear";
    if ((request.version > 0 ? request.version : version_) < kNew)
      if (const auto old = kOldRules.find(request.operation); old != kOldRules.end())
        return old->second(request.size.si, request.ranks);
    const auto rows = kRules.find(request.operation);
    if (rows == kRules.end()) throw InputError("op: MPI has no " + request.operation);
    const double bytes = compared_B(request);
    for (const RanksRow& row : rows->second) {
      if (request.ranks >= row.below) continue;
      for (const SizeRow& size : row.sizes)
        if (bytes < size.below_B) return possible(request, size.algorithm);
    }
    throw InvariantError("the table of " + request.operation + " has no last row");
  }

  [[nodiscard]] Staging staging(const Collective& op) const override {
    const bool collective = others_ == Staging::kPinned || op.traits().root || op.traits().gathers || op.every_pair() ||
                            !op.parts_B().empty();
    return op.traits().reduces ? reductions_ : collective ? others_ : Staging::kNone;
  }

 private:
  Staging reductions_, others_;
  bool public_choice_;
  double version_;
  std::string messages_of_;
};

constexpr const char* kTuned = "Open MPI 4.1.4, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c";

const bool openmpi = libraries().add(
    {"mpi-openmpi", "Open MPI 4.1 with CUDA: reductions through pageable host memory, the rest on GPU buffers",
     std::string(kTuned) + " and ompi/mca/coll/cuda; SC24 paper (002), section IV-D"},
    [] { return std::make_unique<OpenMpi>(Staging::kPageable, Staging::kNone, true, kNew); });

// source: assumed; its collectives are closed, it is built on Open MPI. That all of them go through host memory: 8-byte
// all_reduce and alltoall on 12 GPUs of Summit both take 47 us, three host copies of 13 us and their messages between
// hosts; 11 messages of GPU buffers take 5 us each (calibrate/data/summit/mpi-several.json)
const bool spectrum = libraries().add(
    {"mpi-spectrum", "IBM Spectrum MPI, assumed to choose as Open MPI 4.0 does: collectives through host memory",
     "assumed, its own collectives are not public; Open MPI 4.0, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c"},
    [] { return std::make_unique<OpenMpi>(Staging::kPageable, Staging::kPageable, false, kOld); });

const bool staged = libraries().add(
    {"mpi-staged", "the baseline: buffers copied through pinned host memory, Open MPI between hosts",
     std::string("SC24 paper (002), section III-A, trivial staging; ") + kTuned},
    [] { return std::make_unique<OpenMpi>(Staging::kPinned, Staging::kPinned, true, kNew, "mpi-openmpi"); });

}  // namespace
}  // namespace linkcast
