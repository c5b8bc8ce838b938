// MPICH: algorithm by operation, ranks and bytes.
#include <map>
#include <string>

#include "sim/machine/library.hpp"

namespace linkcast {
namespace {

// source of what follows: MPICH 4.0.2, maint/tuning/coll/mpir/generic.json; the same limits are the defaults of its
// control variables since 3.x (src/mpi/coll/cvars.txt) but for all_reduce, see below
constexpr double kAllGatherShort_B = 81920, kAllGatherLong_B = 524288;
constexpr double kBroadcastShort_B = 12288, kReduceShort_B = 2048, kReduceScatterLong_B = 524288;
constexpr double kAlltoallShort_B = 256, kAlltoallMedium_B = 32768;
constexpr int kFewRanks = 8;
// MPICH counts elements; linkcast's collectives are of 4-byte floats, as nccl-tests runs them.
constexpr double kElement_B = 4;  // source: NVIDIA/nccl-tests, its default type is float

bool power_of_two(int n) { return (n & (n - 1)) == 0; }
int power_below(int n) {
  int power = 1;
  while (2 * power <= n) power *= 2;
  return power;
}

/// A call as the rules see it.
struct MpichCall {
  double size_B = 0, block_B = 0;  ///< of all ranks; of one
  int ranks = 0;
  double all_reduce_short_B = 0;
  [[nodiscard]] bool few_elements() const { return size_B / kElement_B < power_below(ranks); }
};
using MpichRule = const char* (*)(const MpichCall& call);

const char* mpich_all_gather(const MpichCall& call) {
  if (power_of_two(call.ranks)) return call.size_B < kAllGatherLong_B ? "recursive_doubling" : "ring";
  return call.size_B < kAllGatherShort_B ? "bruck" : "ring";
}
const char* mpich_alltoall(const MpichCall& call) {
  if (call.block_B > kAlltoallMedium_B) return "pairwise";
  return call.ranks >= kFewRanks && call.block_B <= kAlltoallShort_B ? "bruck" : "scattered";
}
const char* always_binomial(const MpichCall& /*call*/) { return "binomial"; }

/// Algorithm by operation.
const std::map<std::string, MpichRule> kMpichRules = {
    {"sendrecv", [](const MpichCall&) { return "linear"; }},
    {"gather", always_binomial},
    {"scatter", always_binomial},
    {"all_reduce",
     [](const MpichCall& call) {
       return call.size_B <= call.all_reduce_short_B || call.few_elements() ? "recursive_doubling" : "rabenseifner";
     }},
    {"reduce",
     [](const MpichCall& call) {
       return call.size_B <= kReduceShort_B || call.few_elements() ? "binomial" : "rabenseifner";
     }},
    {"reduce_scatter",
     [](const MpichCall& call) { return call.size_B < kReduceScatterLong_B ? "recursive_halving" : "pairwise"; }},
    {"broadcast",
     [](const MpichCall& call) {
       return call.ranks < kFewRanks || call.size_B <= kBroadcastShort_B ? "binomial" : "scatter_all_gather";
     }},
    {"all_gather", mpich_all_gather},
    {"allgatherv", mpich_all_gather},
    {"alltoallv", [](const MpichCall&) { return "scattered"; }},
    {"alltoall", mpich_alltoall}};

class Mpich final : public Library, public ScheduleLibrary {
 public:
  /// @param all_reduce_short_B  up to it recursive doubling
  Mpich(double all_reduce_short_B, Staging reductions, bool public_choice)
      : short_B_(all_reduce_short_B), reductions_(reductions), public_choice_(public_choice) {}

  [[nodiscard]] const ScheduleLibrary* schedules() const override { return this; }
  [[nodiscard]] bool public_choice() const override { return public_choice_; }

  [[nodiscard]] std::string algorithm(const ScheduleRequest& request) const override {
    const auto rule = kMpichRules.find(request.operation);
    if (rule == kMpichRules.end()) throw InputError("op: MPI has no " + request.operation);
    return rule->second({request.size.si, request.size.si / request.ranks, request.ranks, short_B_});
  }

  [[nodiscard]] Staging staging(const Collective& op) const override {
    return op.traits().reduces ? reductions_ : Staging::kNone;
  }

 private:
  double short_B_;
  Staging reductions_;
  bool public_choice_;
};

// source: MPICH 4.0.2, maint/tuning/coll/mpir/generic.json; published MPICHs up to 3.4 have 2048
// (MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE; Thakur, Rabenseifner, Gropp 2005, section 4.5)
constexpr double kAllReduceShort4_B = 8, kAllReduceShort3_B = 2048;

const bool mpich = libraries().add(
    {"mpi-mpich", "MPICH 4.0 on GPU buffers, reductions by yaksa's kernels",
     "MPICH 4.0.2, maint/tuning/coll/mpir/generic.json; MPIR_Coll_host_buffer_alloc is for what yaksa cannot reduce"},
    [] { return std::make_unique<Mpich>(kAllReduceShort4_B, Staging::kNone, true); });

const bool cray = libraries().add(
    {"mpi-cray", "HPE Cray MPICH 8.1 on GPU buffers, assumed to choose as MPICH 3.4, on which it is based",
     "assumed, its own collectives are closed; Thakur, Rabenseifner, Gropp 2005; SC24 paper (002), section IV-D: "
     "MPICH reduces on the GPUs"},
    [] { return std::make_unique<Mpich>(kAllReduceShort3_B, Staging::kNone, false); });

}  // namespace
}  // namespace linkcast
