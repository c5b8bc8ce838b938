#include "models/libraries/openmpi_4_0.hpp"

namespace linkcast {
namespace {

// source of what follows: Open MPI 4.0, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, from memory. All-reduce of
// 4.0.5 on ABCI bears it out: on 16 ranks no ring below 64 bytes, a step of 24 us between 8 and 16 KiB
constexpr double kOldAllReduce_B = 10000;
constexpr double kOldAllGather_B = 50000;
constexpr double kOldAlltoallSmall_B = 200, kOldAlltoallMedium_B = 3000;
constexpr int kOldAlltoallFew = 12;
constexpr double kOldGatherLarge_B = 6000, kOldGatherSmall_B = 1024, kOldScatter_B = 300;
constexpr int kOldFew = 10, kOldMany = 60;

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

}  // namespace

/// Ring stands for segmented ring and neighbour exchange, linear for linear with synchronisation.
std::optional<std::string> openmpi_4_0(const ScheduleRequest& request) {
  const std::string& op = request.operation;
  const int ranks = request.ranks;
  const double size = request.size.si, block = size / ranks;
  if (op == "all_reduce") return size < kOldAllReduce_B ? "recursive_doubling" : "ring";
  if (op == "all_gather") {
    if (ranks == 2 || (size < kOldAllGather_B && is_power_of_two(ranks))) return "recursive_doubling";
    return size < kOldAllGather_B ? "bruck" : "ring";
  }
  if (op == "alltoall") {
    if (block < kOldAlltoallSmall_B && ranks > kOldAlltoallFew) return "bruck";
    return block < kOldAlltoallMedium_B ? "linear" : "pairwise";
  }
  if (op == "gather") {
    if (block > kOldGatherLarge_B) return "linear";
    return ranks > kOldMany || (ranks > kOldFew && block < kOldGatherSmall_B) ? "binomial" : "linear";
  }
  if (op == "scatter") return ranks > kOldFew && block < kOldScatter_B ? "binomial" : "linear";
  return std::nullopt;
}

}  // namespace linkcast
